"""Bytes to records and back, and the lines they travel on. Nothing is decided here.

The only package that knows gRPC and protobuf; it knows nothing of ours but the model.
"""

import os

# gRPC keeps a diary of its own on stderr, where our logs go; what matters in it reaches us as
# exceptions. It reads this when it is first imported; whoever wants the diary sets it beforehand.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
