"""Bytes to records and back, and the lines they travel on. Nothing is decided here.

The only package that knows gRPC and protobuf; it knows nothing of ours but the model.
"""

import os

# gRPC writes its own log to stderr, where our logs go; what matters in it reaches us as exceptions.
# It reads this variable when it is first imported; set it beforehand to see gRPC's log.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
