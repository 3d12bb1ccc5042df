"""Rails: what stands between a decision and its execution, and says so when it holds back."""
