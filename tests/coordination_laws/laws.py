"""What must hold after every step, also with faults: a law that is broken names itself."""


class LawBroken(AssertionError):
    """A law, and what broke it."""

    def __init__(self, law: str, text: str) -> None:
        super().__init__(f"{law}: {text}")
        self.law = law


#: No machine may be acted on by two shards: now, or after each of them was started again.
ONE_OWNER = "no machine is owned by two shards"
#: The shard that acts on a machine owns it, and no other shard does.
ONE_ACTOR = "no machine is acted on by two shards"
#: What a shard has given up comes back only with a view that is newer, or a transfer that is off.
NO_WAY_BACK = "no shard gains a machine without being told"
#: Between its release and the end of its transfer a machine has no owner.
MARKED = "a released machine waits for its transfer"
#: What serves a cluster stays with the shard that serves it.
IN_USE = "no cluster loses a machine in use"
#: An instruction leaves its queue only when it is done, given up or called off.
NOT_LOST = "no instruction is lost"
#: What was acknowledged is not carried out again.
NOT_TWICE = "no instruction is applied twice"
#: What an older leader says is not acted on.
ONWARD = "terms and revisions never go down"
#: With or without a coordinator.
DECIDES = "a shard goes on deciding"
#: When the faults stop.
ENDS = "everything ends"
AGREE = "every shard agrees"
