//! Every packet that arrived at chosen ports during a window of time: the table `packets`.
//!
//! A row is complete when its packet has left or was dropped. Until then the log finds the row by the port's running
//! count of arrivals.

use fairport_net::discipline::Admission;
use fairport_net::{Arrival, PortId};
use fairport_units::Instant;

use crate::column::Table;
use crate::content::Content;
use crate::tables::{LoggedPacket, LoggedPackets};

/// The numbers of [`PACKET_FATES`].
const WAITING: u8 = 0;
const FORWARDED: u8 = 1;
const MARKED: u8 = 2;
const DROPPED: u8 = 3;
/// What happened to a packet, in the order of the numbers.
pub(crate) const PACKET_FATES: [&str; 4] = ["waiting", "forwarded", "marked", "dropped"];
/// The reason in the row of a packet that was not dropped.
const NO_REASON: u8 = u8::MAX;

/// The packets that arrived at one port.
#[derive(Default)]
struct PortLog {
    /// number of the port's arrival in the first row
    first: u64,
    rows: Vec<LoggedPacket>,
}

/// The packets that arrived at some ports.
pub struct PacketLog {
    from: Instant,
    to: Instant,
    /// by port: its log, if it has one
    ports: Vec<Option<PortLog>>,
}

impl PacketLog {
    /// A log of the packets that arrive at these ports from `from` to `to`.
    pub fn new(ports: impl IntoIterator<Item = PortId>, from: Instant, to: Instant) -> Self {
        let mut logs = Vec::new();
        for port in ports {
            let place = port.0 as usize;
            if logs.len() <= place {
                logs.resize_with(place + 1, || None);
            }
            logs[place] = Some(PortLog::default());
        }
        Self {
            from,
            to,
            ports: logs,
        }
    }

    /// Whether this port's packets are logged.
    #[inline]
    pub fn watches(&self, port: PortId) -> bool {
        matches!(self.ports.get(port.0 as usize), Some(Some(_)))
    }

    fn of(&mut self, port: PortId) -> Option<&mut PortLog> {
        self.ports.get_mut(port.0 as usize)?.as_mut()
    }

    /// A packet arrived.
    pub fn arrived(&mut self, arrival: &Arrival<'_, impl Content>) {
        if arrival.time < self.from || arrival.time > self.to {
            return;
        }
        let Some(log) = self.of(arrival.port) else {
            return;
        };
        if log.rows.is_empty() {
            log.first = arrival.port_arrival;
        }
        let (fate, reason) = match arrival.admission {
            Admission::Accepted if arrival.depart == Instant::NEVER => (WAITING, NO_REASON),
            Admission::Accepted => (FORWARDED, NO_REASON),
            Admission::Marked => (MARKED, NO_REASON),
            Admission::Dropped(reason) => (DROPPED, reason as u8),
        };
        log.rows.push(LoggedPacket {
            time_s: arrival.time,
            port: arrival.port.0,
            ingress_port: arrival.ingress.0,
            flow: arrival.header.flow,
            seq: arrival.content.seq(),
            size_bytes: arrival.frame_bytes,
            fate,
            reason,
            depart_s: arrival.depart,
            queue_bytes: u64::from(arrival.backlog.bytes),
        });
    }

    /// A packet that had been accepted is marked or dropped after all.
    pub fn revised(&mut self, arrival: &Arrival<'_, impl Content>) {
        let admission = arrival.admission;
        self.amend(arrival.port, arrival.port_arrival, |row| match admission {
            Admission::Dropped(reason) => (row.fate, row.reason) = (DROPPED, reason as u8),
            Admission::Marked => row.fate = MARKED,
            Admission::Accepted => {}
        });
    }

    /// The last bit of the port's n-th arrival leaves at `depart`.
    pub fn departs(&mut self, port: PortId, port_arrival: u64, depart: Instant) {
        self.amend(port, port_arrival, |row| {
            row.depart_s = depart;
            if row.fate == WAITING {
                row.fate = FORWARDED;
            }
        });
    }

    fn amend(&mut self, port: PortId, port_arrival: u64, change: impl FnOnce(&mut LoggedPacket)) {
        let row = self.of(port).and_then(|log| {
            let place = port_arrival.checked_sub(log.first)?;
            log.rows.get_mut(place as usize)
        });
        if let Some(row) = row {
            change(row);
        }
    }

    /// The table, port by port. A packet that would leave after `end` is still waiting.
    pub fn into_table(self, end: Instant) -> Table {
        let logs = self.ports.iter().flatten();
        let mut table = LoggedPackets::with_capacity(logs.map(|log| log.rows.len()).sum());
        for log in self.ports.into_iter().flatten() {
            for mut row in log.rows {
                if row.depart_s > end && row.fate != DROPPED {
                    row.depart_s = Instant::NEVER;
                    row.fate = WAITING;
                }
                table.push(row);
            }
        }
        table.into_table()
    }
}
