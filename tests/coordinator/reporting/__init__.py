"""Who is a member, and what each shard last said of itself."""
