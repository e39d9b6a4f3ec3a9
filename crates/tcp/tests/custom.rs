//! A congestion control from outside the crate: an AIMD with its own share, by name and by value.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::pair::{Fate, Pair};
use fairport_tcp::{
    AckSample, CongestionControl, Connection, Controller, Controllers, DecisionCause, DecisionKind,
    Settings, Setup, Start, Window,
};
use fairport_units::{Duration, Instant};
use serde_json::json;

/// Additive increase by one segment per round trip, which is the default, and decrease to 0.7.
#[derive(Debug)]
struct Aimd;

impl Controller for Aimd {
    fn on_loss(&mut self, window: &mut Window) {
        window.lower_threshold(window.cwnd * 7 / 10);
    }
}

fn aimd(_setup: &Setup<'_>) -> Box<dyn Controller> {
    Box::new(Aimd)
}

/// A transfer of 2000 segments through a queue that loses one of every 400.
fn transfer(settings: &Settings) -> Pair {
    let mut pair = Pair::same(settings, Duration::from_ms(10))
        .spaced(Duration::from_us(100))
        .connected()
        .through(|sent| match sent.data {
            Some(number) if number % 400 == 99 => Fate::Lose,
            _ => Fate::Arrive,
        });
    pair.client.write(2000 * 1448);
    pair.run();
    assert_eq!(pair.server.delivered_bytes(), 2000 * 1448);
    pair
}

/// The window after each loss as a share of the window before it, in percent.
fn shares(pair: &Pair) -> Vec<u64> {
    let end = |(_, it): &&(_, fairport_tcp::Decision)| {
        it.what == DecisionKind::SlowStartEnd && it.cause == DecisionCause::Loss
    };
    let ends = pair.client_log.decisions.iter().filter(end);
    let share = |(_, it): &(_, fairport_tcp::Decision)| {
        (100 * it.ssthresh_bytes).div_ceil(it.cwnd_before_bytes)
    };
    ends.map(share).collect()
}

#[test]
fn a_congestion_control_of_ones_own_is_chosen_by_name() {
    let mut controllers = Controllers::default();
    controllers.add("aimd", aimd);
    assert_eq!(controllers.names().collect::<Vec<_>>(), ["aimd"]);
    let json = json!({"congestion_control": "custom:aimd"});
    let overrides = json.as_object().unwrap();
    let preset = Settings::preset("rfc").unwrap();
    let settings = preset.with_controllers(overrides, &controllers).unwrap();

    let pair = transfer(&settings);
    assert_eq!(pair.client.counters().fast_recoveries, 5);
    assert_eq!(pair.client.counters().timeouts, 0);
    // the first loss ends slow start
    assert_eq!(shares(&pair), [70]);

    let newreno = transfer(&preset);
    assert_eq!(shares(&newreno), [50]);
    // it is faster through the same losses
    assert!(pair.now < newreno.now, "{} {}", pair.now, newreno.now);
}

#[test]
fn a_program_may_also_write_it_into_its_settings() {
    let mut settings = Settings::preset("linux-6").unwrap();
    settings.congestion_control = CongestionControl::custom("aimd", aimd);
    assert_eq!(settings.validate(), Ok(()));
    assert_eq!(transfer(&settings).client.counters().timeouts, 0);
}

#[test]
fn a_name_that_nobody_added_is_refused_with_the_names_there_are() {
    let json = json!({"congestion_control": "custom:aimd"});
    let preset = Settings::preset("rfc").unwrap();
    let error = preset.with(json.as_object().unwrap()).unwrap_err();
    assert_eq!(error.field, "congestion_control");
    assert_eq!(error.value, "custom:aimd");
    assert!(error.remedy.contains("newreno, bic"), "{error}");
}

/// Sets a window, a threshold or a pace that sends nothing.
#[derive(Debug)]
struct Wrong(&'static str);

impl Controller for Wrong {
    fn on_ack(&mut self, window: &mut Window, ack: &AckSample) {
        match self.0 {
            "window" => window.cwnd = window.unit() - 1,
            "growth" => window.grow_one_per(0, ack),
            _ => window.grow_as_newreno(ack),
        }
    }

    fn on_loss(&mut self, window: &mut Window) {
        match self.0 {
            "threshold" => window.ssthresh = 0,
            _ => window.lower_threshold(window.cwnd / 2),
        }
    }

    fn pacing_rate(&self) -> Option<u64> {
        (self.0 == "pace").then_some(0)
    }
}

/// A window below a segment would run as one segment per timeout, and say nothing.
#[test]
fn what_would_send_nothing_stops_the_run_and_names_the_congestion_control() {
    for (preset, what, message) in [
        (
            "linux-6",
            "window",
            "`own` set a window of 0, but a segment is 1",
        ),
        (
            "rfc",
            "window",
            "`own` set a window of 1447, but a segment is 1448",
        ),
        ("linux-6", "threshold", "`own` set a threshold of 0"),
        ("linux-6", "pace", "`own` set a pace of 0 bytes per second"),
        ("linux-6", "growth", "the window would grow without end"),
    ] {
        let mut settings = Settings::preset(preset).unwrap();
        let factory = move |_: &Setup<'_>| -> Box<dyn Controller> { Box::new(Wrong(what)) };
        settings.congestion_control = CongestionControl::custom("own", factory);
        let stopped = catch_unwind(AssertUnwindSafe(|| drop(transfer(&settings)))).unwrap_err();
        let said = stopped.downcast_ref::<String>().map(String::as_str);
        let said = said.or_else(|| stopped.downcast_ref::<&str>().copied());
        assert!(said.is_some_and(|it| it.contains(message)), "{said:?}");
    }
}

/// Opens with a window of forty segments.
#[derive(Debug)]
struct Large;

impl Controller for Large {
    fn on_established(&mut self, window: &mut Window, _start: &Start) {
        window.cwnd = 40 * window.unit();
    }
}

/// `tcp_finish_connect`: the time before the handshake is not idle, so the first window is used as it is.
#[test]
fn a_connection_that_opens_late_in_the_run_has_not_been_idle() {
    let mut settings = Settings::preset("linux-6").unwrap();
    settings.small_queue = false;
    settings.congestion_control = CongestionControl::custom("large", |_| Box::new(Large));
    let mut pair = Pair::same(&settings, Duration::from_ms(10));
    pair.now = Instant::from_secs(5);
    pair = pair.connected();
    pair.client.write(40 * 1448);
    let burst = pair.now;
    pair.run();
    let at_once = pair.data().iter().filter(|(at, _)| *at == burst).count();
    assert_eq!(at_once, 40);
    assert_eq!(pair.client_log.decisions, []);
}

/// Opens with a window of one segment per thousand bytes of data, or per flow if the data has no end.
#[derive(Debug)]
struct Fitting;

impl Controller for Fitting {
    fn on_established(&mut self, window: &mut Window, start: &Start) {
        let segments = start
            .size_bytes
            .map_or(u64::from(start.flow), |it| it / 1000);
        window.cwnd = segments.max(1) * window.unit();
    }
}

#[test]
fn a_congestion_control_sees_the_size_and_the_number_of_its_flow() {
    let mut settings = Settings::preset("linux-6").unwrap();
    settings.congestion_control = CongestionControl::custom("fitting", |_| Box::new(Fitting));
    let opens_with = |write: fn(&mut Connection)| {
        let mut pair = Pair::same(&settings, Duration::from_ms(10));
        pair.client = Connection::active(&settings).with_seed(1).with_flow(7);
        write(&mut pair.client);
        let pair = pair.connected();
        (
            pair.client.gauges().cwnd_bytes / 1448,
            pair.server.gauges().cwnd_bytes / 1448,
        )
    };
    assert_eq!(opens_with(|client| client.write(5000)), (5, 1));
    assert_eq!(opens_with(Connection::write_endless), (7, 1));
}

/// Opens with a window that the scenario gives.
#[derive(Debug)]
struct Opens(u64);

impl Controller for Opens {
    fn on_established(&mut self, window: &mut Window, _: &Start) {
        window.cwnd = self.0 * window.unit();
    }
}

#[test]
fn a_factory_sees_the_parameters_that_a_scenario_gives() {
    let mut controllers = Controllers::default();
    controllers.add("opens", |setup| {
        let own = setup.parameters().expect("it is a custom one");
        Box::new(Opens(own["segments"].as_u64().unwrap_or(1)))
    });
    let opens_with = |segments: u64| {
        let control = json!({"name": "custom:opens", "parameters": {"segments": segments}});
        let overrides = json!({"congestion_control": control});
        let settings = Settings::preset("linux-6").unwrap();
        let settings = settings.with_controllers(overrides.as_object().unwrap(), &controllers);
        let pair = Pair::same(&settings.unwrap(), Duration::from_ms(10)).connected();
        pair.client.gauges().cwnd_bytes / 1448
    };
    assert_eq!([3, 7].map(opens_with), [3, 7]);
}

/// Leaves window and threshold as they are, whatever happens.
#[derive(Debug)]
struct Steady;

impl Controller for Steady {
    fn on_ack(&mut self, _window: &mut Window, _ack: &AckSample) {}

    fn on_loss(&mut self, _window: &mut Window) {}
}

/// `tcp_end_cwnd_reduction`: a threshold without limit is no window. It was 10 segments; PRR alone
/// changes it, and at most doubles the flight.
#[test]
fn a_loss_that_sets_no_threshold_does_not_open_the_window() {
    for (preset, fate) in [
        ("linux-6", Fate::Lose),
        ("rfc", Fate::Lose),
        ("linux-6", Fate::Mark),
        ("rfc", Fate::Mark),
    ] {
        let mut settings = Settings::preset(preset).unwrap();
        settings.ecn = true;
        settings.congestion_control = CongestionControl::custom("steady", |_| Box::new(Steady));
        let mut pair = Pair::same(&settings, Duration::from_ms(10))
            .connected()
            .through(move |sent| match sent.data {
                Some(50) => fate,
                _ => Fate::Arrive,
            });
        pair.client.write(200 * 1448);
        pair.run();
        assert_eq!(pair.client.counters().timeouts, 0);
        let segments = pair.client.gauges().cwnd_bytes / 1448;
        assert!(
            (9..20).contains(&segments),
            "{preset}, {fate:?}: {segments}"
        );
    }
}
