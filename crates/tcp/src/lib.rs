//! TCP as pure state machines.
