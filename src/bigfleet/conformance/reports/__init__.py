"""What a run leaves behind: report.json, junit.xml, badge.json, report.html."""
