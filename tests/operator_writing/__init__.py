"""What an operator writes into its cluster of machines and of capacity it could have."""
