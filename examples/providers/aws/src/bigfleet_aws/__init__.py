"""A BigFleet provider for Amazon EC2: `bigfleet provider run bigfleet_aws:Ec2`."""

from bigfleet_aws.backend import Ec2

__all__ = ["Ec2"]
