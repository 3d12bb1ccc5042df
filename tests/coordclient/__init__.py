"""Reports to a coordinator that leads, follows, lies, hangs or is not there."""
