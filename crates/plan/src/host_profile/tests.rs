//! Draws from profiles that are small enough to compute by hand.

use super::*;

fn us(us: u64) -> Duration {
    Duration::from_us(us)
}

fn at(us: u64) -> Instant {
    Instant::from_us(us)
}

/// Half of all times are between 10 and 20 us, half between 20 and 100 us; idle hosts take 500 us.
fn profile(correlation_ppm: u32) -> HostProfile {
    let load = |gap, quantiles: [u64; 3]| LoadTimes {
        gap_min_ps: us(gap),
        quantiles_ps: quantiles.map(us).to_vec(),
    };
    let times = AnswerTimes {
        correlation_ppm,
        loads: vec![load(0, [10, 20, 100]), load(1000, [500, 500, 500])],
    };
    HostProfile {
        levels_ppm: vec![0, 500_000, 1_000_000],
        ack: times.clone(),
        duplicate_ack: times.clone(),
        data: times,
    }
}

fn host(profile: &HostProfile) -> MeasuredHost {
    host_with(profile, Rate::from_bps(1_000_000_000))
}

fn host_with(profile: &HostProfile, adapter: Rate) -> MeasuredHost {
    let stream = Stream::new(1, "test", 0);
    MeasuredHost::new(Arc::new(Tables::new(profile)), stream, keeps(adapter))
}

/// Times in ps of a host that a packet reaches every 200 us.
fn drawn(profile: &HostProfile) -> Vec<f64> {
    let mut host = host(profile);
    let times = (1..20_000).map(|i| {
        let now = at(200 * i);
        host.reached(now);
        (host.answer(now, Answer::Data) - now).as_ps() as f64
    });
    times.collect()
}

#[test]
fn draws_have_the_distribution() {
    let mut times = drawn(&profile(0));
    times.sort_by(f64::total_cmp);
    // the middles of the linear pieces
    for (share, expected_us) in [(0.25, 15.0), (0.5, 20.0), (0.75, 60.0)] {
        let found = times[(share * times.len() as f64) as usize] / 1e6;
        assert!((found / expected_us - 1.0).abs() < 0.04, "{share}: {found}");
    }
    assert!(times[0] >= 10e6 && times[times.len() - 1] <= 100e6);
}

#[test]
fn every_position_lies_in_the_last_piece_that_begins_before_it() {
    let levels_ppm = [0, 1, 15_625, 15_626, 500_000, 999_000, 999_999, 1_000_000];
    let quantiles_ps = [1, 2, 3, 5, 8, 13, 21, 34].map(us).to_vec();
    let load = LoadTimes {
        gap_min_ps: us(0),
        quantiles_ps,
    };
    let times = Distribution::new(&levels_ppm, &load);
    let borders = times.pieces.iter().map(|piece| piece.from);
    let near = borders.flat_map(|from| [from.saturating_sub(1), from, from.saturating_add(1)]);
    for position in near.chain((0..1 << 12).map(|i| i << 20)) {
        let begun = times.pieces.iter().rfind(|it| it.from <= position);
        let piece = begun.expect("the first piece begins at 0");
        let beyond = (u128::from(piece.slope_ps) * u128::from(position - piece.from)) >> 32;
        let expected = Duration::from_ps(piece.time_ps + beyond as u64);
        assert_eq!(times.at(position), expected, "{position}");
    }
}

#[test]
fn a_correlation_changes_no_distribution_and_is_found_again() {
    let times = drawn(&profile(600_000));
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    // half of U(10, 20), half of U(20, 100)
    assert!((mean / 37.5e6 - 1.0).abs() < 0.05, "{mean}");
    let product = |lag: usize| {
        let pairs = times.iter().zip(&times[lag..]);
        pairs.map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>()
    };
    let found = product(1) / product(0);
    assert!((found - 0.6).abs() < 0.03, "{found}");
}

#[test]
fn an_idle_host_takes_the_times_of_an_idle_host() {
    let mut host = host(&profile(0));
    host.reached(at(2_000));
    assert_eq!(host.answer(at(2_000), Answer::Ack), at(2_500));
    // as idle as the profile's 1 ms, and not quite
    host.reached(at(3_000));
    assert_eq!(host.answer(at(3_000), Answer::Ack), at(3_500));
    host.reached(at(3_999));
    assert!(host.answer(at(3_999), Answer::Ack) <= at(4_099));
}

#[test]
fn answers_leave_in_order_and_a_burst_leaves_together() {
    let mut host = host(&profile(0));
    host.reached(at(2_000));
    let first = host.answer(at(2_000), Answer::Data);
    assert_eq!(host.answer(at(2_000), Answer::Data), first);
    // the host is busy now, so a shorter time of its own would end earlier
    host.reached(at(2_010));
    assert_eq!(host.answer(at(2_010), Answer::Ack), first);
}

#[test]
fn a_faster_host_draws_as_often_as_one_at_1_gbit_per_s() {
    // full frames back to back for 0.1 s, each answered
    let drawn = |bps: u64| {
        let adapter = Rate::from_bps(bps);
        let frame = adapter.time_of(1538);
        let mut host = host_with(&profile(0), adapter);
        let mut positions = Vec::new();
        let mut now = Instant::ZERO;
        while now < at(100_000) {
            now += frame;
            host.reached(now);
            host.answer(now, Answer::Ack);
            positions.push(host.positions[Answer::Ack as usize]);
        }
        positions.dedup();
        positions.len() as f64
    };
    let answered = 100_000.0 / 12.304;
    for (bps, expected) in [
        (100_000_000, answered / 10.0),
        (1_000_000_000, answered),
        (2_500_000_000, answered),
        (10_000_000_000, answered),
        (100_000_000_000, answered),
    ] {
        let ratio = drawn(bps) / expected;
        // up to one frame of the faster link sooner
        assert!((0.99..1.26).contains(&ratio), "{bps}: {ratio}");
    }
}

#[test]
fn behind_the_last_level_times_grow_no_more() {
    let mut short = profile(0);
    short.levels_ppm = vec![0, 500_000, 999_000];
    let times = LoadTimes {
        gap_min_ps: Duration::ZERO,
        quantiles_ps: [10, 20, 100].map(us).to_vec(),
    };
    let distribution = Distribution::new(&short.levels_ppm, &times);
    assert_eq!(distribution.at(0), us(10));
    assert_eq!(distribution.at(u32::MAX), us(100));
}

#[test]
fn what_is_no_distribution_is_refused() {
    let broken: [fn(&mut HostProfile); 5] = [
        |profile| profile.levels_ppm[0] = 1,
        |profile| profile.levels_ppm[2] = WHOLE + 1,
        |profile| profile.ack.loads[0].quantiles_ps[1] = us(200),
        |profile| profile.data.loads[0].gap_min_ps = us(1),
        |profile| profile.duplicate_ack.correlation_ppm = WHOLE + 1,
    ];
    assert!(profile(0).check().is_ok());
    for break_it in broken {
        let mut profile = profile(0);
        break_it(&mut profile);
        assert!(profile.check().is_err());
    }
}
