"""Who is compared with whom: hop counts and names of captured hosts.

A map is best: a CSV file with a row for each address or network. Without one, hop counts come from
the hops left in the packets (TTL), if routers count them down. In a network of bridges they are not
counted down. Then the ports of the joined switch decide: an ingress port with one sender is assumed
to be that sender's own (2 links to the receiver), one with several senders to be a link to another
switch (at least 3). If all senders come out equal, their subnets decide: senders in the receiver's
own subnet are assumed to be near (2 links), the others far (at least 3).
"""

from __future__ import annotations

import csv
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from fairport.errors import InputError
from fairport.tables import Tables

# the TTLs with which systems send; a packet that has passed routers has a smaller one
_INITIAL_TTL = (32, 64, 128, 255)
_MOST_HOPS = 255

_MAP_FORM = "write a line `address,name,hops`, and below it one for each host"


@dataclass(frozen=True, slots=True)
class Known:
    """What a map says about an address."""

    name: str
    hops: int | None


Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Map = Mapping[Network, Known]

# prefix lengths of typical subnets: a rack, a link
_SUBNET_BITS = {4: 24, 6: 64}


def read_map(path: Path) -> Map:
    """Reads a CSV file with the columns address, name and hops; the last two may be missing.

    An address may be a network, such as 10.0.1.0/24: then its hops are those of all its hosts.

    Raises InputError.
    """
    try:
        # spreadsheets write a byte order mark
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            rows, columns = list(reader), reader.fieldnames or ()
    except FileNotFoundError:
        raise InputError("does not exist", file=str(path), remedy=_MAP_FORM) from None
    except UnicodeDecodeError:
        raise InputError("is not UTF-8 text", file=str(path), remedy=_MAP_FORM) from None
    except OSError as error:
        problem = f"cannot be read: {(error.strerror or 'unknown reason').lower()}"
        raise InputError(problem, file=str(path), remedy=_MAP_FORM) from None
    except csv.Error as error:
        raise InputError(f"is not CSV: {error}", file=str(path), remedy=_MAP_FORM) from None
    if "address" not in columns:
        raise InputError("has no column `address`", file=str(path), remedy=_MAP_FORM)
    known: dict[Network, Known] = {}
    for number, row in enumerate(rows, 2):
        place = f"{path}, line {number}"
        try:
            address = ipaddress.ip_network((row.get("address") or "").strip())
            hops = int(row["hops"]) if row.get("hops") else None
            if address in known:
                raise ValueError(f"{row['address']} has a line above, too")
            if hops is not None and not 1 <= hops <= _MOST_HOPS:
                raise ValueError(f"{hops} is no number of hops from 1 to {_MOST_HOPS}")
        except ValueError as error:
            raise InputError(
                f"is not understood: {error}",
                file=place,
                remedy=_MAP_FORM,
            ) from None
        host = str(address.network_address)
        known[address] = Known((row.get("name") or "").strip() or host, hops)
    return known


def _found(known: Map, address: str) -> Known | None:
    """The map's entry for the smallest network that contains the address."""
    host = ipaddress.ip_address(address)
    holding = [network for network in known if host in network]
    if not holding:
        return None
    return known[max(holding, key=lambda network: network.prefixlen)]


def with_hops(tables: Tables, known: Map, *, is_joined: bool) -> pl.DataFrame:
    """The table of flows with `hops`, which are null if they cannot be known."""
    flows = tables["flows"].join(
        tables["conversations"].select("flow", "ttl", "ingress_port"), on="flow", how="left"
    )
    hops = _mapped(flows, known)
    if hops is None:
        hops = _counted_down(flows, is_joined)
    if hops is None:
        hops = _behind_ports(flows) if is_joined else None
        near = _by_subnet(flows)
        if (hops is None or hops.n_unique() < 2) and near.n_unique() > 1:
            hops = near
    if hops is None:
        return tables["flows"]
    return tables["flows"].with_columns(hops=hops)


def _mapped(flows: pl.DataFrame, known: Map) -> pl.Series | None:
    of = {src: _found(known, src) for src in flows["src"].unique()}
    hops = [one.hops if (one := of[src]) else None for src in flows["src"]]
    return pl.Series("hops", hops, pl.UInt32) if any(one is not None for one in hops) else None


def _counted_down(flows: pl.DataFrame, is_joined: bool) -> pl.Series | None:
    """Hop counts from the hops left in the packets.

    A joined tap is assumed to be at the receiver's switch, a single capture at the receiver. A
    joined switch has not yet counted down the packets that come in.
    """
    initial = pl.lit(None, pl.UInt32)
    for value in reversed(_INITIAL_TTL):
        initial = pl.when(pl.col("ttl") <= value).then(value).otherwise(initial)
    passed = flows.select((initial - pl.col("ttl")).cast(pl.UInt32)).to_series()
    long = flows.select(pl.col("workload") == "bulk").to_series()
    compared = passed.filter(long) if long.any() else passed
    if compared.n_unique() < 2:
        return None
    return (passed + (2 if is_joined else 1)).alias("hops")


def _behind_ports(flows: pl.DataFrame) -> pl.Series:
    senders = pl.col("src").n_unique().over("ingress_port")
    hops = pl.when(pl.col("ingress_port").is_null()).then(None).when(senders == 1).then(2)
    return flows.select(hops.otherwise(3).cast(pl.UInt32).alias("hops")).to_series()


def _by_subnet(flows: pl.DataFrame) -> pl.Series:
    """Hop counts from subnets: 2 for senders in the receiver's subnet, 3 for others."""

    def subnet(address: str) -> Network:
        bits = _SUBNET_BITS[ipaddress.ip_address(address).version]
        return ipaddress.ip_network(f"{address}/{bits}", strict=False)

    pairs = flows.select("src", "dst").iter_rows()
    hops = [2 if subnet(src) == subnet(dst) else 3 for src, dst in pairs]
    return pl.Series("hops", hops, pl.UInt32)


def named(tables: Tables, known: Map) -> Tables:
    """The tables with the map's names instead of addresses."""
    names = {
        str(network.network_address): one.name
        for network, one in known.items()
        if network.num_addresses == 1
    }
    if not names:
        return tables
    return tables | {"flows": tables["flows"].with_columns(pl.col("src", "dst").replace(names))}
