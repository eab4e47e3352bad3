//! Every available stack does, in each of its modes, what the measurements take for granted.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use terse_bench::bootstrap::{self, Bootstrap};
use terse_bench::joins::{self, Joins};
use terse_bench::measure::{Warm, instructions};
use terse_bench::plant::Plant;
use terse_bench::probe::{HeapProbe, StackProbe, Unwatched};
use terse_bench::slots::{self, Slots};
use terse_bench::stack::{Mode, Profile, Setting, Side, Stack, Version};
use terse_bench::voucher::{self, CONTENT_LEN, Form, Once, Phase, Pledge, Signer};
use terse_bench::{cache_entries, operations, stacks, web};
use terse_sim::computing::{Devices, Operation};

/// Whether everything must be available.
fn all_is_required() -> bool {
    std::env::var_os("TERSE_REQUIRE_ALL").is_some_and(|value| value == "1")
}

/// Returns the available stacks. With `TERSE_REQUIRE_ALL=1` all must be available.
fn present() -> Vec<Box<dyn Stack>> {
    let required = all_is_required();
    let mut all = stacks::all();
    all.retain(|stack| {
        let version = stack.version();
        if let Err(reason) = &version {
            assert!(!required, "{}: {reason}", stack.name());
            println!("skipped {}: {reason}", stack.name());
        }
        version.is_ok()
    });
    all
}

fn settings(stack: &dyn Stack) -> impl Iterator<Item = Setting> {
    let modes = Mode::ALL.into_iter().chain(Mode::WITHOUT_CERTIFICATES).chain([Mode::Unverified]);
    let all = modes.flat_map(|mode| {
        let versions = Version::ALL.into_iter();
        versions.flat_map(move |version| Profile::ALL.map(|profile| Setting::new(version, profile, mode)))
    });
    all.filter(|setting| stack.has(*setting))
}

#[test]
fn every_mode_of_every_stack_is_what_it_says_and_carries_data() {
    for stack in present() {
        for setting in settings(stack.as_ref()) {
            let failed = |error: String| -> ! { panic!("{} {setting}: {error}", stack.name()) };
            let mut warm = Warm::new(stack.as_ref(), setting).unwrap_or_else(|error| failed(error));
            for _ in 0..2 {
                let cost = warm.cost().unwrap_or_else(|error| failed(error));
                assert!(cost.client > 100 && cost.server > 80, "{} {setting}: {cost:?}", stack.name());
            }
            warm.open(&mut Unwatched).unwrap_or_else(|error| failed(error));
            let largest = if setting.version.is_datagram() { 1_163 } else { 0x4000 };
            for size in [1, 128, largest] {
                let data = vec![7; size];
                warm.pair().carry(&data, &mut [0; 0x4000]).unwrap_or_else(|error| failed(error));
            }
            warm.end(&mut Unwatched).unwrap_or_else(|error| failed(error));
        }
    }
}

#[test]
fn a_connection_uses_heap_and_gives_it_back_and_uses_stack() {
    let setting = Setting::new(Version::Tls12, Profile::Ec3, Mode::Full);
    for stack in present() {
        let mut warm = Warm::new(stack.as_ref(), setting).expect("a world");
        for side in [Side::Client, Side::Server] {
            let mut probe = HeapProbe::new();
            warm.open(&mut probe).expect("a handshake");
            let open = probe.heap(side);
            warm.end(&mut probe).expect("an end");
            let ended = probe.heap(side);
            let name = stack.name();
            assert!(open.peak >= open.in_use && open.in_use > 1000, "{name} {side:?}: {open:?}");
            assert!(ended.in_use < open.in_use / 4, "{name} {side:?}: {open:?}, then {ended:?}");
        }
        let mut probe = StackProbe::default();
        warm.handshake(&mut probe).expect("a handshake");
        for side in [Side::Client, Side::Server] {
            assert!((1_000..200_000).contains(&probe.deepest(side)), "{} {side:?}", stack.name());
        }
    }
}

/// Ours takes fewer bytes than rustls, as `make bytes` asserts, and fewer than others over datagrams.
#[test]
fn ours_takes_fewer_bytes_than_others_and_cached_fewer_than_full() {
    let all = stacks::all();
    let named = |name: &str| all.iter().find(|stack| stack.name() == name).expect("a stack").as_ref();
    for version in Version::ALL {
        for profile in Profile::ALL {
            let bytes = |name: &str, mode| {
                let mut warm = Warm::new(named(name), Setting::new(version, profile, mode)).expect("a world");
                let costs = (0..4).map(|_| warm.cost().expect("a handshake"));
                costs.map(|cost| cost.total() + cost.tickets).min().expect("four handshakes")
            };
            // rustls has no datagrams, OpenSSL no DTLS 1.3, and either may not be available.
            let rival = match version {
                Version::Dtls13 => "wolfssl-asm",
                Version::Dtls12 => "openssl",
                Version::Tls12 | Version::Tls13 => "rustls-aws-lc",
            };
            for mode in [Mode::Full, Mode::Resumed].into_iter().filter(|_| named(rival).version().is_ok()) {
                assert!(bytes(OURS, mode) <= bytes(rival, mode), "{version} {profile} {mode}");
            }
            let [full, rfc7924, bithac] = [Mode::Full, Mode::Rfc7924, Mode::Bithac].map(|mode| bytes(OURS, mode));
            assert!(bithac < rfc7924 && rfc7924 < full, "{version} {profile}: {bithac}, {rfc7924}, {full}");
        }
    }
}

const OURS: &str = "terse-aws-lc";

/// Entries keep to the design's budget, and a file is no larger than memory.
#[test]
fn entries_of_a_cache_keep_to_their_budget() {
    for (chain, most) in cache_entries::CHAINS.into_iter().zip([128, 128, 340]) {
        let entries = cache_entries::measure(chain).expect("a measurement");
        for entry in entries {
            assert!((96..=most).contains(&entry.heap) && entry.file <= entry.heap, "{entry:?}");
            // A server's table has holes from its handshakes, of at most an eighth of the table.
            let holes = if entry.side == Side::Server { (entry.heap + entry.names) / 7 } else { 0 };
            assert!((8..=16 + holes).contains(&entry.second_ticket) && entry.names > 20, "{entry:?}");
        }
        assert!((40..80).contains(&entries[0].request), "{entries:?}");
        assert!(cache_entries::render(&entries).contains(&format!("| {chain}, server")));
    }
}

/// `terse compare --devices` reads what `terse-bench operations` prints, and has a time for everything.
#[test]
fn every_operation_of_a_device_is_measured() {
    for provider in [&terse_aws_lc::PROVIDER, &terse_rustcrypto::RSA_SIGNING] {
        let times = operations::measure(provider, 3, 0.002).expect("a measurement");
        let file = operations::render("machine", "\"this\" one", "a test", &times);
        let devices = Devices::parse(&file).unwrap_or_else(|error| panic!("{error}: {file}"));
        let machine = devices.find("machine").expect("its name");
        assert_eq!(machine.description, "\"this\" one");
        for operation in Operation::ALL {
            assert!(machine.time_of(operation).is_some(), "{operation} in {file}");
        }
    }
}

#[test]
fn slots_of_networks_that_form_themselves_are_counted() {
    let slots = Slots { minutes: 20, period: 10_000, side: 1_000.0, rounds: 1 };
    let table = slots::measure(&[5], &slots).expect("it runs");
    let row: Vec<&str> = table.lines().last().expect("a row").split('|').map(str::trim).collect();
    // 20 minutes of 10 ms, and the slot that begins at their end; all five nodes have settled, and packets have arrived.
    assert_eq!((row[1], row[2], row[6]), ("5", "120001", "5"), "{table}");
    assert!(row[7].parse::<u64>().is_ok_and(|packets| packets > 10), "{table}");
}

#[test]
fn devices_of_a_network_that_forms_itself_connect() {
    let (version, mode) = ("DTLS 1.3".to_owned(), "compact".to_owned());
    let joins = Joins { version, mode, hours: 4.0, spread: 1, side: 200.0, rounds: 1 };
    let table = joins::measure(&[4], &joins).expect("it runs");
    let row: Vec<&str> = table.lines().last().expect("a row").split('|').map(str::trim).collect();
    let slots = |text: &str| text.parse::<u64>().ok();
    assert_eq!((row[1], row[6], row[7]), ("4", "4", "4"), "{table}");
    assert!(slots(row[3]) > Some(10_000) && slots(row[3]) < Some(4 * 360_000), "{table}");
}

#[test]
fn both_servers_answer_requests_on_every_kind_of_connection() {
    let table = web::measure(web::Effort { rounds: 1, slice: Duration::from_millis(50) }).expect("it runs");
    assert_eq!(table.lines().count(), 2 + 6, "{table}");
    for row in table.lines().skip(2) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        assert!(cells[2].ends_with("±0%") && cells[3].ends_with("±0%"), "one round: {table}");
        assert!(cells[4].parse::<f64>().is_ok_and(|ratio| ratio > 0.0), "{table}");
    }
}

#[test]
fn an_onboarding_of_four_processes_has_times_and_bytes_by_phase() {
    let directory = tempfile::tempdir().expect("a directory");
    let bootstrap = Bootstrap { form: bootstrap::Form::Https, rounds: 2, directory: Some(directory.path().into()) };
    let measured = bootstrap.measure().expect("it runs");
    assert_eq!((measured.devices.len(), measured.first_ms.len()), (2, 2));
    for device in &measured.devices {
        let sum: f64 = device.phases.iter().map(|phase| phase.ms).sum();
        assert!((sum - device.enrolled_ms).abs() < 0.1, "no time is missing: {device:?}");
        assert!(device.voucher_ms < device.enrolled_ms && device.cpu_ms > 0.0, "{device:?}");
        for phase in ["start", "connect", "request_voucher", "voucher_status", "enroll", "connect_ldevid"] {
            let found = device.phases.iter().find(|found| found.phase == phase).expect(phase);
            assert!(found.ms > 0.0 && (phase == "start") == (found.sent == 0), "{found:?}");
        }
        assert!(device.masa.iter().map(|leg| leg.received).sum::<u64>() > 1_000, "{device:?}");
    }
    let table = measured.render();
    for name in ["handshake 1", "rv: requestvoucher", "handshake 2", "to the voucher", "1,467", "registrar to MASA"] {
        assert!(table.contains(name), "{name}: {table}");
    }
    let left = std::fs::read_dir(directory.path()).expect("a directory").count();
    assert_eq!(left, 0, "files of a round are removed");
}

#[test]
fn an_onboarding_over_coaps_of_four_processes_has_times_and_bytes_by_phase() {
    let directory = tempfile::tempdir().expect("a directory");
    for form in [bootstrap::Form::Coaps13, bootstrap::Form::Coaps12] {
        let bootstrap = Bootstrap { form, rounds: 1, directory: Some(directory.path().into()) };
        let measured = bootstrap.measure().expect("it runs");
        let sum = |bytes: fn(&bootstrap::Phase) -> u64| measured.devices[0].phases.iter().map(bytes).sum::<u64>();
        assert!(sum(|phase| phase.sent) > 1_000 && sum(|phase| phase.received) > 1_000, "{measured:?}");
        let table = measured.render();
        assert!(table.contains("over CoAPS") && !table.contains("Ethernet"), "{table}");
    }
}

#[test]
fn a_hundred_devices_join_while_one_of_two_registrars_and_masas_is_killed_twice_and_the_other_cut_off() {
    let directory = tempfile::tempdir().expect("a directory");
    let plant = Plant { pledges: 100, at_once: 32, has_cuts: true, directory: Some(directory.path().into()) };
    let measured = match plant.measure() {
        Err(reason) if reason.contains("PostgreSQL is not here") => {
            assert!(std::env::var_os("TERSE_REQUIRE_ALL").is_none_or(|value| value != "1"), "{reason}");
            return println!("skipped: {reason}");
        }
        measured => measured.expect("it runs, and its books are right"),
    };
    assert_eq!((measured.each.len(), measured.kills, measured.cuts), (100, 2, 2));
    assert!(measured.kept_back.iter().all(|bytes| *bytes > 0), "{:?}", measured.kept_back);
    assert!(measured.verified_vouchers >= 100 && measured.audit_entries >= 100 && measured.certificates >= 100);
    let table = measured.render();
    assert!(table.contains("devices per second") && table.contains("chain whole"), "{table}");
}

#[test]
fn all_instructions_of_the_simulator_are_in_a_layer() {
    if !instructions::is_possible() {
        return println!("skipped: valgrind is not installed");
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_terse-bench"));
    let output =
        command.args(["layers", "--nodes", "3", "--minutes", "5", "--devices", "2"]).output().expect("it runs");
    let table = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let shares: Vec<Vec<f64>> =
        table.lines().skip(2).filter(|line| !line.contains("all, million")).map(cells).collect();
    for column in 0..2 {
        let sum: f64 = shares.iter().map(|row| row[column]).sum();
        assert!((sum - 100.0).abs() < 1.0 && shares.iter().any(|row| row[column] > 10.0), "{table}");
        assert!(shares.last().is_some_and(|other| other[column] < 10.0), "{table}");
    }
}

/// Returns the available signers of voucher requests. With `TERSE_REQUIRE_ALL=1` all must be available.
fn present_signers() -> Vec<Box<dyn Signer>> {
    let mut all = voucher::signers();
    all.retain(|signer| {
        let version = signer.version();
        if let Err(reason) = &version {
            assert!(!all_is_required(), "{}: {reason}", signer.name());
            println!("skipped {}: {reason}", signer.name());
        }
        version.is_ok()
    });
    all
}

#[test]
fn every_signer_signs_a_voucher_request_that_others_verify() {
    let has_openssl = Command::new("openssl").arg("version").output().is_ok();
    assert!(has_openssl || !all_is_required(), "openssl is required: apt-get install openssl");
    for (chain, count) in [("p256x2", 1), ("p256x3", 2)] {
        let directory = tempfile::tempdir().expect("a directory");
        let pledge = Pledge::make(directory.path(), chain).expect("a pledge");
        assert_eq!((pledge.content.len(), pledge.chain.len()), (CONTENT_LEN, count));
        for signer in present_signers() {
            let failed = |error: String| -> ! { panic!("{}, {chain}: {error}", signer.name()) };
            let signed = voucher::sign(signer.as_ref(), &pledge).unwrap_or_else(|error| failed(error));
            let is_for_openssl = has_openssl && signer.form() == Form::Cms;
            if is_for_openssl {
                pledge.check_with_openssl(&signed).unwrap_or_else(|error| failed(error));
            }
            // What has another byte somewhere is refused: the check is one.
            for at in [signed.len() - 1, signed.len() / 3] {
                let mut changed = signed.clone();
                changed[at] ^= 1;
                assert!(signer.check(&pledge, &changed).is_err(), "{}, {chain}", signer.name());
                assert!(!is_for_openssl || pledge.check_with_openssl(&changed).is_err(), "{}, {chain}", signer.name());
            }
        }
    }
}

/// As COSE a voucher request takes 1.5 kB of heap at most, the result and a key that was just loaded included, and less than as CMS.
#[test]
fn signing_a_constrained_voucher_request_takes_less_heap() {
    let directory = tempfile::tempdir().expect("a directory");
    let pledge = Pledge::make(directory.path(), "p256x2").expect("a pledge");
    let program = Path::new(env!("CARGO_BIN_EXE_terse-bench"));
    let signers = present_signers();
    let named = |name: &str| signers.iter().find(|signer| signer.name() == name).expect("a signer").as_ref();
    let report = |name: &str, what| voucher::once(program, what, named(name), &pledge).expect("a report");
    let len = |name: &str| voucher::sign(named(name), &pledge).expect("a signature").len() as i64;
    for provider in ["terse-aws-lc", "terse-rustcrypto"] {
        let cms = report(provider, Once::Heap);
        for (name, most) in [(format!("{provider}-cose"), 250), (format!("{provider}-cose-cert"), 700)] {
            let (heap, stack, len) = (report(&name, Once::Heap), report(&name, Once::Stack), len(&name));
            assert!((100..most).contains(&len), "{name}: {len}");
            for phase in Phase::ALL.map(|phase| phase as usize) {
                let (peak, total) = (heap.peak[phase], heap.total[phase]);
                assert!(peak >= len && total >= peak, "{name}: {heap:?}");
                assert!((1_000..100_000).contains(&stack.peak[phase]), "{name}: {stack:?}");
                // AWS-LC takes more for its first random number.
                if phase != Phase::First as usize || provider == "terse-rustcrypto" {
                    assert!(peak < cms.peak[phase], "{name}: {heap:?}, CMS {cms:?}");
                    // What is aimed at for devices, whose provider it is.
                    assert!(peak <= 1_500 || provider != "terse-rustcrypto", "{name}: {heap:?}");
                }
            }
        }
    }
}

/// Ours takes 3 kB of heap at most, the result included, and less than others. AWS-LC takes more for its first random number.
#[test]
fn signing_a_voucher_request_takes_little_heap() {
    let directory = tempfile::tempdir().expect("a directory");
    let pledge = Pledge::make(directory.path(), "p256x2").expect("a pledge");
    let program = Path::new(env!("CARGO_BIN_EXE_terse-bench"));
    let (mut ours, mut others) = ([0; 3], [i64::MAX; 3]);
    for signer in present_signers().into_iter().filter(|signer| signer.form() == Form::Cms) {
        let name = signer.name();
        let report = |what| voucher::once(program, what, signer.as_ref(), &pledge).expect("a report");
        let (heap, stack) = (report(Once::Heap), report(Once::Stack));
        for phase in Phase::ALL {
            let (peak, total) = (heap.peak[phase as usize], heap.total[phase as usize]);
            let is_ours = name.starts_with("terse");
            if is_ours && (phase != Phase::First || name == "terse-rustcrypto") {
                assert!(peak <= 3_000, "{name} {phase:?}: {heap:?}");
                ours[phase as usize] = peak.max(ours[phase as usize]);
            } else if !is_ours {
                others[phase as usize] = peak.min(others[phase as usize]);
            }
            // The result has more than the content.
            assert!(peak > CONTENT_LEN as i64 && total >= peak, "{name} {phase:?}: {heap:?}");
            assert!((1_000..100_000).contains(&stack.peak[phase as usize]), "{name} {phase:?}: {stack:?}");
        }
    }
    assert!(ours.iter().zip(others).all(|(ours, others)| *ours < others), "{ours:?}, others {others:?}");
}

/// Mbed TLS is compiled for small devices, and without optimisation in builds for tests; of OpenSSL there is the whole library.
#[test]
fn libraries_have_a_size() {
    let sizes = voucher::libraries(&["mbedtls", "openssl", "nothing"]);
    match sizes {
        Ok(sizes) => {
            let names: Vec<_> = sizes.iter().map(|size| size.name).collect();
            assert_eq!(names, ["mbedtls", "openssl"]);
            assert!(sizes.iter().all(|size| size.code < size.file && size.code > 100_000), "{sizes:?}");
            assert!(sizes[0].code < sizes[1].code, "{sizes:?}");
        }
        Err(reason) => {
            assert!(!all_is_required(), "{reason}");
            println!("skipped: {reason}");
        }
    }
}

/// The smallest program that signs is ours, with RustCrypto.
#[test]
fn programs_that_sign_a_voucher_request_are_small() {
    if !all_is_required() {
        return println!("skipped: this compiles with all optimisations; TERSE_REQUIRE_ALL=1 does it");
    }
    let directory = tempfile::tempdir().expect("a directory");
    let pledge = Pledge::make(directory.path(), "p256x3").expect("a pledge");
    let programs = voucher::programs(&["terse-rustcrypto", "openssl", "wolfssl-low"]).expect("programs");
    let size = |at: usize| {
        let program: &voucher::Program = &programs[at];
        program.sign(&pledge).expect(program.name);
        program.size().expect(program.name)
    };
    let sizes = [0, 1, 2].map(size);
    assert!(sizes[0] < sizes[1] && sizes[0] < sizes[2], "{sizes:?}");
}

#[test]
fn the_table_of_signing_a_voucher_request_has_a_column_for_each() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_terse-bench"));
    let signers = "terse-aws-lc,terse-rustcrypto";
    let output = command.args(["voucher", "--quick", "--no-instructions", "--only", signers]).output();
    let output = output.expect("it runs");
    let table = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(table.starts_with(&format!("{CONTENT_LEN} bytes of content")), "{table}");
    let rows: Vec<&str> = table.lines().filter(|line| line.starts_with('|')).collect();
    assert!(rows.iter().all(|row| row.split('|').count() == 5) && rows.len() == 16, "{table}");
}

#[test]
fn constrained_voucher_requests_have_a_table_of_their_own() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_terse-bench"));
    let signers = "terse-rustcrypto,terse-rustcrypto-cose";
    let output = command.args(["voucher", "--quick", "--no-instructions", "--only", signers]).output();
    let output = output.expect("it runs");
    let table = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let rows = |table: &str| table.lines().filter(|line| line.starts_with('|')).count();
    let (cms, cose) = table.split_once("As COSE").expect("two tables");
    assert!(cose.contains("| terse-rustcrypto-cose |") && !cms.contains("-cose"), "{table}");
    assert_eq!((rows(cms), rows(cose)), (16, 16), "{table}");
}

/// Returns the numbers of a row.
fn cells(line: &str) -> Vec<f64> {
    line.split('|').filter_map(|cell| cell.trim().parse().ok()).collect()
}
