//! A client against a peer whose every segment is written by hand. Its first data goes out at 0 ms, and all times
//! count from there; the handshake took 100 ms. Segments carry 1000 bytes and are named by their numbers.

use fairport_tcp::{
    Connection, Ecn, Flags, Info, SackBlock, Segment, Settings, SynOptions, Timestamps,
};
use fairport_units::{Duration, Instant};
use serde_json::{Value, json};

use crate::pair::{Log, stack};

pub(crate) const PAYLOAD: u32 = 1000;
/// No segments.
pub(crate) const NOTHING: [u32; 0] = [];
/// When the handshake is over, in microseconds.
const START_US: u64 = 100_000;

/// Today's Linux with `NewReno` and exact timers. A timeout is 300 ms with round trips of 100.
pub(crate) fn today(overrides: &Value) -> Settings {
    let mut all = json!({
        "congestion_control": "newreno", "mss_bytes": 1000, "timestamps": false, "clock_tick_ps": 0,
        "small_queue": false, "slow_start_after_idle": false, "host_queue_pushback": false
    });
    for (key, value) in overrides.as_object().unwrap() {
        all[key] = value.clone();
    }
    stack("linux-6", &all)
}

pub(crate) struct Peer {
    pub(crate) end: Connection,
    pub(crate) log: Log,
    pub(crate) now: Instant,
    /// the window in the peer's segments
    pub(crate) window: u16,
    /// the timestamp that they echo
    pub(crate) echo: Option<u32>,
    pub(crate) flags: Flags,
}

impl Peer {
    /// With a window of 60 segments, not scaled.
    pub(crate) fn opened(settings: &Settings) -> Self {
        Self::with_window(settings, 60_000)
    }

    pub(crate) fn with_window(settings: &Settings, window: u16) -> Self {
        let mut peer = Self {
            end: Connection::active(settings),
            log: Log::default(),
            now: Instant::ZERO,
            window,
            echo: None,
            flags: Flags::ACK,
        };
        let syn = peer.polls();
        assert_eq!(syn.len(), 1);
        let mut answer = peer.segment(0);
        answer.seq = 0;
        answer.flags |= Flags::SYN;
        if syn[0].flags.contains(Flags::ECE) {
            answer.flags |= Flags::ECE;
        }
        if let Some(stamps) = syn[0].options.timestamps() {
            answer.options.set_timestamps(Timestamps {
                val: 1,
                ecr: stamps.val,
            });
        }
        answer.options.set_syn(SynOptions {
            mss: 9000,
            window_scale: None,
            sack_permitted: true,
        });
        peer.now = Instant::from_us(START_US);
        peer.gets(&answer);
        assert_eq!(peer.polls().len(), 1);
        peer
    }

    /// The clock shows so many milliseconds.
    pub(crate) fn at(&mut self, ms: u64) -> &mut Self {
        self.at_us(1000 * ms)
    }

    pub(crate) fn at_us(&mut self, us: u64) -> &mut Self {
        self.now = Instant::from_us(START_US + us);
        let timer = self.end.poll_timer();
        assert!(
            timer.is_none_or(|at| at >= self.now),
            "a timer is due before: {timer:?}"
        );
        self
    }

    /// The application writes so many whole segments; returns those that go out.
    pub(crate) fn writes(&mut self, segments: u64) -> Vec<u32> {
        self.end.write(segments * u64::from(PAYLOAD));
        self.sends()
    }

    /// An ACK of all segments below `number`; returns the numbers of those that go out.
    pub(crate) fn acks(&mut self, number: u32) -> Vec<u32> {
        self.sacks(number, &[])
    }

    /// The same with SACK blocks, each from one number to another.
    pub(crate) fn sacks(&mut self, number: u32, blocks: &[(u32, u32)]) -> Vec<u32> {
        let bytes: Vec<(u32, u32)> = blocks
            .iter()
            .map(|(from, to)| (from * PAYLOAD, to * PAYLOAD))
            .collect();
        self.sacks_bytes(number * PAYLOAD, &bytes)
    }

    /// The same in bytes of the stream.
    pub(crate) fn sacks_bytes(&mut self, ack: u32, blocks: &[(u32, u32)]) -> Vec<u32> {
        let mut segment = self.segment(ack);
        for (from, to) in blocks {
            segment.options.push_sack(SackBlock {
                start: from + 1,
                end: to + 1,
            });
        }
        self.gets(&segment);
        self.sends()
    }

    pub(crate) fn segment(&self, ack: u32) -> Segment {
        let mut segment = Segment {
            seq: 1,
            ack: ack.wrapping_add(1),
            window: self.window,
            flags: self.flags,
            ..Segment::default()
        };
        if let Some(ecr) = self.echo {
            segment.options.set_timestamps(Timestamps { val: 1, ecr });
        }
        segment
    }

    pub(crate) fn gets(&mut self, segment: &Segment) {
        self.end
            .on_packet(self.now, segment, Ecn::NotEct, &mut self.log);
    }

    pub(crate) fn polls(&mut self) -> Vec<Segment> {
        std::iter::from_fn(|| self.end.poll_transmit(self.now)).collect()
    }

    /// The numbers of the segments with data that go out now.
    pub(crate) fn sends(&mut self) -> Vec<u32> {
        let sent = self.polls();
        let data = sent.iter().filter(|it| it.payload > 0);
        data.map(|it| (it.seq - 1) / PAYLOAD).collect()
    }

    /// When the next timer fires, in microseconds.
    pub(crate) fn due_us(&self) -> Option<u64> {
        let at = self.end.poll_timer()?;
        Some(at.as_ps() / 1_000_000 - START_US)
    }

    /// Lets the next timer fire: when, in microseconds, and what goes out.
    pub(crate) fn wakes(&mut self) -> (u64, Vec<u32>) {
        let due = self.due_us().expect("a timer");
        self.now = self.end.poll_timer().expect("a timer");
        self.end.on_timer(self.now, &mut self.log);
        (due, self.sends())
    }

    pub(crate) fn info(&self) -> Info {
        self.end.info()
    }

    /// Window and threshold in segments.
    pub(crate) fn window(&self) -> (u64, Option<u64>) {
        let info = self.info();
        (info.snd_cwnd, info.snd_ssthresh)
    }

    /// Outstanding, SACKed, lost and sent again, in segments.
    pub(crate) fn flight(&self) -> [u64; 4] {
        let info = self.info();
        [info.unacked, info.sacked, info.lost, info.retrans]
    }
}

pub(crate) fn ms(ms: u64) -> Duration {
    Duration::from_ms(ms)
}

/// Numbers from one to another.
pub(crate) fn all(range: std::ops::Range<u32>) -> Vec<u32> {
    range.collect()
}
