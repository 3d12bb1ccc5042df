"""Money: what machines cost, who pays, and what taking them was declared to cost."""
