"""The examples at the end of `--help`, by command; also in the reference and the man page."""

from __future__ import annotations

EXAMPLES: dict[str, list[str]] = {
    "fairport": [
        "fairport run outcast",
        "fairport compare outcast --repeat 5",
        "fairport COMMAND --help",
    ],
    "run": [
        "fairport run outcast",
        "fairport run outcast --repeat 20 --out results/twenty",
        "fairport run my.toml --set queue.limit=32KiB --set tcp.stack=linux-6",
        "fairport run leaf-spine-incast --json --no-output",
    ],
    "compare": [
        "fairport compare outcast --repeat 5",
        "fairport compare leaf-spine-incast --fix codel,dctcp --metric rounds_done",
    ],
    "validate": [
        "fairport validate two-switch --set link.rate=100Mbps --set tcp.stack=linux-6 --repeat 3",
    ],
    "reproduce": [
        "fairport reproduce",
        "fairport reproduce prakash2012/one-to-n --quick",
        "fairport reproduce --all --jobs 2",
    ],
    "analyze": [
        "fairport analyze ingress.pcapng egress.pcapng",
        "fairport analyze --ingress A=in1.pcap --ingress B=in2.pcap --egress out.pcap --out found",
    ],
    "sweep": ["fairport sweep outcast-map --quick", "fairport sweep my-sweep.toml --estimate"],
    "query": ["fairport query results/my-sweep 'select * from runs limit 5'"],
    "plot": [
        "fairport plot results/my-sweep --x queue.limit --y throughput_ratio",
        "fairport plot results/my-sweep --out my-sweep.html",
        "fairport plot results/outcast --kind queue --width 3.4in --out queue.pdf",
        "fairport plot results/outcast-compare --width 3.4in --out fixes.pdf",
    ],
    "tune": ["fairport tune tune-red --trials 20", "fairport tune my-search.toml"],
    "hunt": ["fairport hunt hunt-outcast --trials 20", "fairport hunt my-search.toml"],
    "list": ["fairport list", "fairport list buffer-sizes"],
    "fixes": ["fairport fixes", "fairport fixes red > mine.toml"],
    "paths": [
        "fairport paths outcast",
        "fairport paths leaf-spine-incast --top 5",
        "fairport paths outcast --set routing=equal-length --figure paths.png",
    ],
    "report": ["fairport report results/outcast", "fairport report results/outcast-compare"],
    "rerun": ["fairport rerun results/outcast"],
    "microscope": [
        "fairport microscope results/outcast",
        "fairport microscope results/outcast --around 2.5s --span 5ms",
    ],
    "script": ["fairport script exchange.pkt", "fairport script scripts --stack linux-3.0"],
    "store": ["fairport store", "fairport store --clear"],
    "doctor": ["fairport doctor", "fairport doctor --measure-hosts --out my-host.toml"],
    "scenario show": [
        "fairport scenario show outcast > my.toml",
        "fairport scenario show outcast --set queue.limit=32KiB",
    ],
    "scenario schema": ["fairport scenario schema > scenario.schema.json"],
    "stack list": ["fairport stack list"],
    "stack show": ["fairport stack show linux-6"],
    "topology export": [
        "fairport topology export outcast --format graphml --out network.graphml",
    ],
    "linux cleanup": ["fairport linux cleanup"],
}


def epilog(command: str) -> str | None:
    """The end of a command's help: its examples; None if it has none."""
    lines = EXAMPLES.get(command)
    # \b keeps the lines as they are
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines) if lines else None
