"""Real Linux TCP as a backend: hosts are network namespaces, the network is Fairport's own switch.

The same forwarding core, queue disciplines, topology and routing as in the simulation run in real
time between the kernel's TCP stacks. Hosts take real time, so the scenario's profile and processing
times do not apply. A run is valid if the switch was on time (`gate`); otherwise its numbers say
more about the machine than about TCP.

The package imports nothing: each run starts two processes, which need few of its modules.
"""
