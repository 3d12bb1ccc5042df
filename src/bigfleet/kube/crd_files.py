"""The custom resources a cluster must know, as they are applied to it.

They lie beside this file, one each; what they must say is fixed by the wire contract, section 8.
"""

from importlib.resources import files

#: By their plural, in the order in which they are applied.
PLURALS = ("capacityrequests", "upcomingnodes", "availablecapacities")


def crd_document(plural: str) -> str:
    return files("bigfleet.kube").joinpath("crds", f"{plural}.yaml").read_text("utf-8")


def crd_documents() -> str:
    """All of them in one stream, for `kubectl apply -f -`."""
    return "---\n".join(map(crd_document, PLURALS))
