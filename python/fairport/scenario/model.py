"""The whole scenario, and the rules between its sections."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, Field, PrivateAttr, model_validator
from typing_extensions import Self

from fairport import headers
from fairport.errors import ScenarioError, did_you_mean
from fairport.published import experiment_names
from fairport.scenario.base import Name, PositiveDuration, Section, refuse
from fairport.scenario.checking import checked
from fairport.scenario.classifier import Classifier
from fairport.scenario.document import dotted, is_unicode, plain, texts
from fairport.scenario.loss import AnyLoss
from fairport.scenario.measure import Measure, Probes
from fairport.scenario.network import ADAPTER_TIMES, Host, HostTimes, Link, Switch
from fairport.scenario.patch import overridden
from fairport.scenario.queues.fifo import DropTail
from fairport.scenario.queues.queue import Queue
from fairport.scenario.routing import DestinationSuffix, Routing
from fairport.scenario.shaper import Shaper, TokenBucket
from fairport.scenario.source import Source
from fairport.scenario.tcp import DEFAULT_STACK, HostTcp, TcpSettings
from fairport.scenario.topology import Fabric, FatTree, Topology
from fairport.scenario.traffic import Traffic
from fairport.scenario.traffic.udp import Udp
from fairport.scenario.units import Duration, Limit, Rate
from fairport.scenario.user_code import Factory, UserCode

_SEEDS = 2**63
# fields that a file has above its first section
_OWN_FIELDS = ("name", "description", "paper", "seed", "duration", "routing")


def _published(paper: str) -> str:
    names = experiment_names()
    if paper not in names:
        raise refuse("has no published figures here", did_you_mean(paper, names))
    return paper


class Scenario(Section):
    """One experiment: a network, its hosts and their TCP, the traffic, the time."""

    name: Name
    """Short name; results go to `results/NAME` unless `--out` says otherwise."""
    description: str = ""
    """What the scenario is about, for people."""
    paper: Annotated[str, AfterValidator(_published)] | None = None
    """Published figures to print beside the results, such as "prakash2012/fifteen-to-one"."""
    seed: int = Field(default=1, ge=0, lt=_SEEDS)
    """Seed of every random number of the run."""
    duration: PositiveDuration = Duration("10s")
    """Simulated time."""
    routing: Routing = DestinationSuffix(kind="destination-suffix")
    """The routing policy, which chooses paths: its name, or a table with its settings."""
    topology: Topology
    """Hosts, switches and links."""
    link: Link = Link()
    """Every link."""
    fabric: Fabric = Fabric()
    """Links between switches, if they differ."""
    switch: Switch = Switch()
    """Every switch."""
    queue: Queue = DropTail()
    """The queue of every switch port."""
    shaper: Shaper | None = None
    """A token bucket that holds packets back before the line, as `tc` does on Mininet's links."""
    classifier: Classifier | None = None
    """Separates short flows from long ones where they enter the network."""
    host: Host = Host()
    """Every host."""
    tcp: TcpSettings = TcpSettings()
    """TCP at all hosts."""
    host_tcp: list[HostTcp] = Field(default=[])
    """TCP at some hosts."""
    loss: list[AnyLoss] = Field(default=[])
    """Where packets are lost outside queues."""
    traffic: list[Traffic] = Field(min_length=1)
    """Who sends what to whom."""
    measure: Measure = Measure()
    """The span of the measurement."""
    probes: Probes = Probes()
    """How often time series are sampled."""

    _source: Source = PrivateAttr(default=Source())
    _user_code: UserCode = PrivateAttr(default=UserCode())

    @model_validator(mode="after")
    def _holds_a_packet(self) -> Self:
        packet = int(self.link.mtu) + self.link.buffered_overhead
        limits = {"queue.limit": self.queue.limit}
        limits |= {f"topology.{name}": limit for name, limit in self.topology.limits().items()}
        if self.fabric.limit is not None:
            limits["fabric.limit"] = self.fabric.limit
        for field, limit in limits.items():
            if field != "queue.limit" and not self.queue.own_limits:
                raise refuse(
                    f"has no effect with a queue of kind {self.queue.kind}",
                    "leave it out, or choose another queue.kind",
                    field=field,
                )
            if not limit.in_packets and limit < packet:
                raise refuse(
                    f"is smaller than one packet of {packet} B (the MTU and its framing)",
                    f'give at least "{packet}B", or a smaller link.mtu',
                    field=field,
                )
        return self

    @model_validator(mode="after")
    def _shapes_a_packet(self) -> Self:
        if self.shaper is None:
            return self
        packet = int(self.link.mtu) + self.link.buffered_overhead
        bursts = {"burst": self.shaper.burst}
        if isinstance(self.shaper, TokenBucket):
            if self.shaper.latency is not None and "limit" in self.queue.model_fields_set:
                raise refuse(
                    "sets the buffer size, and so does queue.limit",
                    "leave one of the two out",
                    field="shaper.latency",
                )
            held = self.shaper.limit_bytes
            if held is not None and held > Limit.largest:
                raise refuse(
                    f"asks for a buffer of {held} B, more than the largest of {Limit.largest} B",
                    "give a shorter latency or a lower rate",
                    field="shaper.latency",
                )
        else:
            bursts["cburst"] = self.shaper.cburst
        for name, burst in bursts.items():
            if burst < packet:
                raise refuse(
                    f"{burst} is smaller than one packet of {packet} B, which could never be sent",
                    f'give at least "{packet}B"',
                    field=f"shaper.{name}",
                    show_value=False,  # the limit may be a default
                )
        return self

    @model_validator(mode="after")
    def _classes_are_known(self) -> Self:
        if self.queue.kind in ("rio", "rio-ps", "strict-priority") and self.classifier is None:
            raise refuse(
                "needs a [classifier] to separate short flows from long ones",
                'add one, such as [classifier] threshold = "50 packets"',
                field="queue.kind",
            )
        return self

    @model_validator(mode="after")
    def _one_rate_of_the_fabric(self) -> Self:
        oversubscribed = isinstance(self.topology, FatTree) and self.topology.oversubscription > 1
        if oversubscribed and self.fabric.rate is not None:
            raise refuse(
                "is given as well as fabric.rate, and both set the rate of links between switches",
                "leave one of the two out",
                field="topology.oversubscription",
            )
        return self

    @model_validator(mode="after")
    def _parameters_have_a_control(self) -> Self:
        layers = self.tcp_layers()
        given = [place for place, layer in layers.items() if layer.parameters]
        if given and not any(layer.is_own_control for layer in layers.values()):
            raise refuse(
                "has no effect, because only a congestion control of your own has parameters",
                'leave it out, or give `congestion_control = "custom:NAME"`',
                field=f"{given[0]}.parameters",
                show_value=False,
            )
        return self

    @model_validator(mode="after")
    def _packets_fit(self) -> Self:
        smallest = headers.IPV4_TCP + headers.SMALLEST_MSS
        if not smallest <= self.link.mtu <= headers.LARGEST_PACKET:
            raise refuse(
                f"is not between {smallest} B ({headers.SMALLEST_MSS} B of data and their headers)"
                f" and {headers.LARGEST_PACKET} B (the limit of IPv4)",
                'give one between, such as "1500B"',
                field="link.mtu",
            )
        payloads = {
            f"{at}.mss": (one.mss, headers.IPV4_TCP) for at, one in self.tcp_layers().items()
        }
        payloads |= {
            f"traffic.{index}.payload": (traffic.payload, headers.IPV4_UDP)
            for index, traffic in enumerate(self.traffic)
            if isinstance(traffic, Udp)
        }
        for field, (payload, header) in payloads.items():
            largest = int(self.link.mtu) - header
            if payload is not None and payload > largest:
                raise refuse(
                    f"does not fit an MTU of {self.link.mtu} with {header} B of headers",
                    f'give at most "{largest}B", or a larger link.mtu',
                    field=field,
                )
        return self

    @model_validator(mode="after")
    def _within_the_run(self) -> Self:
        moments = {"measure.from": self.measure.start}
        moments |= {
            f"traffic.{index}.start": traffic.start for index, traffic in enumerate(self.traffic)
        }
        for field, moment in moments.items():
            if moment is not None and moment >= self.duration:
                raise refuse(
                    f"is not before the end of the run at {self.duration}",
                    "give an earlier time or a longer duration",
                    field=field,
                )
        if self.measure.end is not None and self.measure.end > self.duration:
            raise refuse(
                f"is after the end of the run at {self.duration}",
                "leave it out to measure to the end",
                field="measure.to",
            )
        return self

    def tcp_layers(self) -> dict[str, TcpSettings]:
        """Every place that has settings of TCP, by its dotted path, the most general first."""
        layers = {"tcp": self.tcp}
        layers |= {f"host_tcp.{index}": layer for index, layer in enumerate(self.host_tcp)}
        return layers | {
            f"traffic.{index}.tcp": traffic.tcp
            for index, traffic in enumerate(self.traffic)
            if traffic.tcp is not None
        }

    def sized_queue(self) -> Queue:
        """The queue with its final limit, which a shaper's `latency` may set."""
        held = self.shaper.limit_bytes if isinstance(self.shaper, TokenBucket) else None
        if held is None:
            return self.queue
        return self.queue.model_copy(update={"limit": Limit(f"{held}B")})

    def host_times(self) -> HostTimes:
        """How long hosts take; the defaults are those of hosts with the stack of [tcp]."""
        forwards = self.topology.has_forwarding_hosts
        return self.host.times(self.tcp.stack or DEFAULT_STACK, forwards=forwards)

    def fabric_rate(self) -> Rate | None:
        """The rate of links between switches, if [fabric] or the topology sets it."""
        by_topology = self.topology.fabric_rate_bps(int(self.link.rate))
        return self.fabric.rate or (None if by_topology is None else Rate.of(by_topology))

    def shaped_bps(self, line_bps: int) -> int:
        """The rate of a port on such a line, which its shaper may lower."""
        return line_bps if self.shaper is None else min(line_bps, int(self.shaper.rate))

    def link_rates(self) -> set[Rate]:
        """The rates that links have: their own, those between switches, that of [link]."""
        of_fabric = self.fabric_rate()
        rates = self.topology.link_rates(self.link.rate)
        return rates if of_fabric is None else rates | {of_fabric}

    def __repr__(self) -> str:
        topology = self.topology.kind
        kinds = ", ".join(dict.fromkeys(traffic.kind for traffic in self.traffic))
        return (
            f"<fairport.Scenario {self.name}: {topology}, {self.queue.kind} {self.queue.limit},"
            f" {self.tcp.stack or DEFAULT_STACK}, {kinds}, {self.duration}>"
        )

    __str__ = __repr__

    @classmethod
    def read(cls, document: dict[str, Any], source: Source) -> Scenario:
        """A scenario from a document with the fields of a file. Raises ScenarioError."""

        def check(one: dict[str, Any]) -> Scenario:
            return cls.model_validate(one, context={"folder": source.folder})

        document = plain(document)
        _require_characters(document, source)
        scenario = checked(check, document, source, ScenarioError, _OWN_FIELDS)
        scenario._source = source
        return scenario

    def _repr_html_(self) -> str:
        """For notebooks: its description, and the file."""
        text = html.escape(self.to_toml())
        about = html.escape(f": {self.description}" if self.description else "")
        return f"<p><b>{html.escape(self.name)}</b>{about}</p><pre>{text}</pre>"

    def __eq__(self, other: object) -> bool:
        """Whether two scenarios are equal in every field, wherever they were read from."""
        return (
            isinstance(other, Scenario)
            and self.__dict__ == other.__dict__
            # whose defaults depend on which fields are given
            and self.host_times() == other.host_times()
            and self._user_code == other._user_code
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def file(self) -> str:
        """The source for messages: a file, or the name of a built-in scenario."""
        return self._source.file or self.name

    @property
    def source(self) -> Source:
        """Where its values come from."""
        return self._source

    def where(self, field: str) -> str:
        """Where the field of this dotted path was set, for messages: "my.toml:12", "--set"."""
        return self._source.where(field) or self.name

    @property
    def user_code(self) -> UserCode:
        """The user's own classes that the scenario may name; no part of a file."""
        return self._user_code

    def with_user_code(
        self,
        *,
        disciplines: Mapping[str, Factory] | None = None,
        congestion_controls: Mapping[str, Factory] | None = None,
    ) -> Scenario:
        """A copy whose runs know these classes, by their names in the scenario."""
        copy = self.model_copy()
        added = UserCode(disciplines or {}, congestion_controls or {})
        copy._user_code = self._user_code | added
        return copy

    def document(self) -> dict[str, Any]:
        """The scenario as a TOML document, as its author wrote it: with units, no defaults."""
        return self.model_dump(by_alias=True, exclude_unset=True, exclude_none=True)

    def resolved(self) -> dict[str, Any]:
        """The document with every default filled in."""
        filled = self.model_dump(by_alias=True, exclude_none=True)
        apart = {name: filled["host"][name] for name in (*ADAPTER_TIMES, "queue")}
        filled["host"] = self.host_times().document() | apart
        return filled

    def to_toml(self) -> str:
        """The scenario as a file; loading it gives an equal scenario."""
        import tomli_w

        document = self.document()
        text = tomli_w.dumps(document)
        # in a text over several lines, TOML takes \r\n for \n
        return text if r"\r\n" in text else tomli_w.dumps(document, multiline_strings=True)

    def with_seed(self, seed: int) -> Scenario:
        """The scenario with this seed, without reading again the files that it names.

        Raises ScenarioError.
        """
        if type(seed) is int and 0 <= seed < _SEEDS:
            return self if seed == self.seed else self.model_copy(update={"seed": seed})
        return self.patch({"seed": seed})

    def patch(self, overrides: Mapping[str, Any], *, by: str = "patch") -> Scenario:
        """A copy with values set by dotted paths, such as `{"traffic.0.start": "1ms"}`.

        It is checked as a file is. In messages about these values, `by` is their source. Raises
        ScenarioError.
        """
        if not overrides:
            return self
        patched = overridden(
            self.document(),
            overrides,
            by,
            lambda document: self.read(document, self.source.overridden(overrides, by)),
        )
        patched._user_code = self._user_code
        return patched


def _require_characters(document: Any, source: Source) -> None:
    """Refuses a byte of the command line that is no character, which no result could contain."""
    for path, text in texts(document):
        if not is_unicode(text):
            field = dotted(path)
            raise ScenarioError(
                "is not UTF-8 text",
                file=source.where(field),
                field=field,
                value=text,
                remedy="write it in UTF-8",
            )
