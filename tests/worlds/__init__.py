"""Small worlds the worked cases are set in: GPU hosts, and small hosts plain and in racks."""
