"""The author's settings: `--set region=eu-west-1`, or the same keys in a YAML file."""

import msgspec

from bigfleet.provider import Config, Secret


class Ec2Config(Config):
    region: str = "eu-central-1"
    #: The AMI of every host: it has the SSM agent and the hook commands below.
    image: str = ""
    #: Zone -> subnet; a zone that is not named gets its default subnet.
    subnets: dict[str, str] = msgspec.field(default_factory=dict)
    security_groups: tuple[str, ...] = ()
    instance_profile: str = ""
    #: A file, handed to every instance at launch. It cannot hold the bootstrap blob, which comes
    #: only with Configure.
    user_data: str = ""
    #: Further tags of every instance.
    tags: dict[str, str] = msgspec.field(default_factory=dict)

    #: Commands on the host. Exit 0: done; 75: not now; anything else: failed.
    configure_command: str = "/opt/bigfleet/configure"
    drain_command: str = "/opt/bigfleet/drain"
    ready_command: str = "/opt/bigfleet/ready"
    #: `command` asks the host, MODULE:CALLABLE asks your own code (README.md).
    readiness: str = "command"
    #: Where a blob waits for its host; without it a blob must fit into a command.
    blob_bucket: str = ""

    #: A file in place of the pinned price table.
    prices: str = ""
    #: An SQS queue with EC2's spot interruption warnings.
    interruption_queue: str = ""

    #: Empty: the usual chain of profiles, environment and instance roles.
    access_key_id: str = ""
    secret_access_key: Secret = Secret("")
    #: Something that speaks like AWS: a private endpoint, or a fake.
    endpoint_url: str = ""
    #: Between two looks at something that takes time.
    poll_seconds: float = 3.0
