//! The queue of a switch port: the list of disciplines, and how a configuration becomes one of them.
//!
//! A new discipline is one file and one line. The file holds its `Config`, which serde reads from the plan of a run,
//! and its state. The line goes into the list at the end of this file. The first part lists disciplines that decide
//! when a packet arrives and send first in, first out ([`QueueDiscipline`]); the second part lists those that decide
//! when a packet leaves ([`PacketScheduler`]). The list generates [`QueueConfig`], and the two enums through which a
//! port calls its discipline without a virtual function. A discipline from outside this crate needs no line here: see
//! [`CustomQueues`].

mod custom;

use fairport_units::Instant;
use serde::{Deserialize, Serialize};

use crate::BuildError;
use crate::discipline::{
    Admission, DropTail, PacketView, Pie, QueueDiscipline, QueueView, Red, RedLinux, Rio,
    StepMarking, WeightedTailDrop, drop_tail, pie, red, red_linux, rio, rio_ps, step_marking,
    weighted_tail_drop,
};
use crate::scheduler::{
    CoDel, Drr, FqCoDel, Handle, LinuxSfq, Offer, PacketScheduler, PortFair, Sfq, SharedBuffer,
    StrictPriority, WaitingPackets, codel, drr, fq_codel, linux_sfq, port_fair, sfq, shared_buffer,
    strict_priority,
};

pub use crate::context::{NetworkContext, PortContext};
pub use custom::{Config as CustomConfig, CustomQueue, CustomQueues};

/// Which packets a port accepts, and which of them is sent next.
#[derive(Debug)]
pub enum Queueing {
    /// first in, first out: the decision is made when a packet arrives
    Fifo {
        /// which packets are accepted
        discipline: Discipline,
        /// when a packet stops counting against the buffer's limit
        release: BufferRelease,
    },
    /// the decision is made when a packet leaves; the packet in service does not count against the limit
    Scheduled(Box<Scheduler>),
}

/// When a packet stops counting against the buffer's limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferRelease {
    /// when its last bit is sent: the packet in service counts
    EndOfService,
    /// when its first bit is sent
    StartOfService,
}

impl BufferRelease {
    fn new(count_in_service: bool) -> Self {
        if count_in_service {
            Self::EndOfService
        } else {
            Self::StartOfService
        }
    }
}

macro_rules! queues {
    (
        decide_on_arrival {
            $($(#[$fifo_doc:meta])* $Fifo:ident($FifoConfig:ty) => $FifoState:ty,)*
        }
        decide_on_departure {
            $($(#[$scheduler_doc:meta])* $Sched:ident($SchedConfig:ty) => $SchedState:ty,)*
        }
    ) => {
        /// The queue of every switch port, in the plan of a run.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind", rename_all = "kebab-case")]
        pub enum QueueConfig {
            $($(#[$fifo_doc])* $Fifo($FifoConfig),)*
            $($(#[$scheduler_doc])* $Sched($SchedConfig),)*
            /// a discipline from outside this crate
            Custom(CustomConfig),
        }

        impl QueueConfig {
            /// The empty queue of one port. `customs` are the disciplines from outside this crate.
            ///
            /// # Errors
            /// If this port cannot have such a queue; the error names the field.
            pub fn build(
                &self,
                port: &PortContext<'_>,
                customs: &CustomQueues,
            ) -> Result<Queueing, BuildError> {
                match self {
                    $(Self::$Fifo(config) => Ok(Queueing::Fifo {
                        discipline: Discipline::$Fifo(config.build(port)?.into()),
                        release: BufferRelease::new(config.count_in_service),
                    }),)*
                    $(Self::$Sched(config) => {
                        let scheduler = Scheduler::$Sched(config.build(port)?);
                        Ok(Queueing::Scheduled(Box::new(scheduler)))
                    })*
                    Self::Custom(config) => config.build(port, customs),
                }
            }
        }

        /// The discipline of a first-in-first-out port. It is an enum and not a trait object because the call is on the
        /// hot path. A state of more than 8 bytes is boxed: most ports are drop-tail and must use few cache lines.
        #[derive(Debug)]
        pub enum Discipline {
            $($(#[$fifo_doc])* $Fifo($FifoState),)*
            /// a discipline from outside this crate; boxed twice, since a fat pointer has 16 bytes
            Custom(Box<Box<dyn QueueDiscipline>>),
        }

        impl QueueDiscipline for Discipline {
            #[inline]
            fn admit(&mut self, queue: &QueueView, packet: &PacketView) -> Admission {
                match self {
                    $(Self::$Fifo(discipline) => discipline.admit(queue, packet),)*
                    Self::Custom(discipline) => discipline.admit(queue, packet),
                }
            }

            #[inline]
            fn on_accepted(&mut self, leaves: Instant) {
                match self {
                    $(Self::$Fifo(discipline) => discipline.on_accepted(leaves),)*
                    Self::Custom(discipline) => discipline.on_accepted(leaves),
                }
            }
        }

        /// The discipline of a port that decides when a packet leaves. It is an enum and not a trait object, like
        /// [`Discipline`].
        #[derive(Debug)]
        pub enum Scheduler {
            $($(#[$scheduler_doc])* $Sched($SchedState),)*
            /// a discipline from outside this crate
            Custom(Box<dyn PacketScheduler>),
        }

        impl PacketScheduler for Scheduler {
            #[inline]
            fn shares_memory(&self) -> bool {
                match self {
                    $(Self::$Sched(scheduler) => scheduler.shares_memory(),)*
                    Self::Custom(scheduler) => scheduler.shares_memory(),
                }
            }

            #[inline]
            fn enqueue(&mut self, offer: &Offer<'_>, packets: &mut WaitingPackets) -> Admission {
                match self {
                    $(Self::$Sched(scheduler) => scheduler.enqueue(offer, packets),)*
                    Self::Custom(scheduler) => scheduler.enqueue(offer, packets),
                }
            }

            #[inline]
            fn pass(&mut self, now: Instant, packet: &PacketView) -> Option<Admission> {
                match self {
                    $(Self::$Sched(scheduler) => scheduler.pass(now, packet),)*
                    Self::Custom(scheduler) => scheduler.pass(now, packet),
                }
            }

            #[inline]
            fn dequeue(&mut self, now: Instant, packets: &mut WaitingPackets) -> Option<Handle> {
                match self {
                    $(Self::$Sched(scheduler) => scheduler.dequeue(now, packets),)*
                    Self::Custom(scheduler) => scheduler.dequeue(now, packets),
                }
            }
        }
    };
}

impl QueueConfig {
    /// Memory that the empty queue of one port takes in a network with so many hosts, in bytes: that of the queues to
    /// which flows are hashed. Other disciplines take little until packets come.
    pub fn state_bytes(&self, hosts: u64) -> u64 {
        match self {
            Self::Sfq(config) => config.state_bytes(hosts),
            Self::LinuxSfq(config) => config.state_bytes(),
            Self::FqCodel(config) => config.state_bytes(),
            _ => 0,
        }
    }
}

queues! {
    decide_on_arrival {
        /// drop what does not fit
        DropTail(drop_tail::Config) => DropTail,
        /// drop-tail that marks packets which find more than a threshold in the queue
        StepMarking(step_marking::Config) => Box<StepMarking>,
        /// drop or mark early and at random, depending on the average queue
        Red(red::Config) => Box<Red>,
        /// RED with Linux's integer arithmetic
        RedLinux(red_linux::Config) => Box<RedLinux>,
        /// RED with a favoured class
        Rio(rio::Config) => Box<Rio>,
        /// RIO with thresholds that are shares of the limit
        RioPs(rio_ps::Config) => Box<Rio>,
        /// drop or mark early and at random, depending on the queueing delay
        Pie(pie::Config) => Box<Pie>,
        /// drop-tail with one threshold per class
        WeightedTailDrop(weighted_tail_drop::Config) => Box<WeightedTailDrop>,
    }
    decide_on_departure {
        /// stochastic fair queueing as in ns-2
        Sfq(sfq::Config) => Sfq,
        /// stochastic fair queueing as in Linux
        LinuxSfq(linux_sfq::Config) => LinuxSfq,
        /// deficit round robin over flows
        Drr(drr::Config) => Drr,
        /// one buffer that the ingress ports share equally
        PortFair(port_fair::Config) => PortFair,
        /// drop at the head of the queue, depending on the time that packets have waited
        Codel(codel::Config) => CoDel,
        /// fair queueing with `CoDel` in each queue
        FqCodel(fq_codel::Config) => FqCoDel,
        /// packets of short flows first
        StrictPriority(strict_priority::Config) => StrictPriority,
        /// one memory for all ports of a switch
        SharedBuffer(shared_buffer::Config) => SharedBuffer,
    }
}
