"""What an open page is told as it happens."""
