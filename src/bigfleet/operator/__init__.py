"""One cluster's end of the fleet: tells the shard what the cluster needs, and obeys it gently."""
