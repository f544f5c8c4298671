"""What the arbiter asks of a machine: facts of devices and answers of probes, of this machine or of a stated one."""
