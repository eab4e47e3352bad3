//! The audit log is exported, verified without a database, and imported into another one.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use terse_brski::masa::Claims;
use terse_net::files::read_certificates;
use terse_net::pki_types::CertificateDer;
use terse_onboard::masa::{
    Change, LogHead, LogProblem, MasaConfig, MasaService, VerifyOptions, change_device, export_log, import_log,
    verify_export,
};
use terse_onboard::store::Database;

use super::by_hand::{Hand, verified, verified_with};
use super::scene::{Domain, SERIAL, Scene, now};

/// A scene whose device has had three vouchers, and the requests.
async fn scene() -> (Scene, Vec<Vec<u8>>) {
    let mut scene = Scene::new().await;
    scene.config.policy.claims = Claims::Always;
    let masa = scene.start().await;
    let rival = Domain::new("Rival");
    let requests = [&scene.domain, &rival, &scene.domain].map(|domain| scene.request_of(domain, "a nonce"));
    let requests = [&requests[..2], &[scene.request("another nonce")]].concat();
    for request in &requests {
        assert_eq!(scene.ask(masa.address, request).await.status, 200);
    }
    masa.stop().await;
    (scene, requests)
}

fn signers(config: &MasaConfig) -> Vec<CertificateDer<'static>> {
    read_certificates(&config.voucher_signer.chain).unwrap()[..1].to_vec()
}

/// Exports to a file of this name.
async fn export(scene: &Scene, config: &MasaConfig, name: &str) -> (PathBuf, LogHead) {
    let file = scene.directory.path().join(name);
    let mut out = fs::File::create(&file).unwrap();
    let head = export_log(config, &mut out, None, now(), &mut |_, _| ()).await.unwrap();
    (file, head)
}

fn verify(file: &Path, signers: &[CertificateDer<'_>]) -> Result<LogHead, String> {
    verify_export(file, signers, &mut |_, _| ()).map_err(|error| error.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn another_database_goes_on_where_an_export_ends() {
    let (mut scene, requests) = scene().await;
    change_device(&scene.config, SERIAL, Change::Block).await.unwrap();
    change_device(&scene.config, SERIAL, Change::Unblock).await.unwrap();
    let masa = scene.start().await;
    let (mut vouchers, mut logs) = (Vec::new(), Vec::new());
    for request in &requests {
        vouchers.push(scene.ask(masa.address, request).await);
        logs.push(scene.ask_audit_log(masa.address, request).await);
    }
    masa.stop().await;
    let records = scene.store().await.devices(SERIAL).await.unwrap();
    let head = verified(&scene).await.unwrap();

    // To a file of SQLite, and from there to a database of the kind that is tested.
    let there = Database::from(scene.directory.path().join("there.db"));
    let back = Database::try_from(super::database::new("back.db")).unwrap();
    for (database, name) in
        [(there, "one.jsonl"), (back.beside(&scene.directory.path().join("masa.toml")), "two.jsonl")]
    {
        let (file, exported) = export(&scene, &scene.config, name).await;
        assert_eq!(exported, head);
        scene.config.database = database;
        let imported = import_log(&scene.config, &file, &[], &mut |_, _| ()).await.unwrap();
        assert_eq!((imported.head, imported.devices, imported.vouchers), (head, 1, 3));
        assert_eq!(verified(&scene).await, Ok(head));
        assert_eq!(scene.store().await.devices(SERIAL).await.unwrap(), records);
        // Once is enough.
        let again = import_log(&scene.config, &file, &[], &mut |_, _| ()).await.unwrap_err().to_string();
        assert!(again.contains("the database has devices already"), "{again}");
    }
    let masa = scene.start().await;
    for ((request, voucher), log) in requests.iter().zip(&vouchers).zip(&logs) {
        assert_eq!(scene.ask(masa.address, request).await, *voucher, "the same voucher");
        assert_eq!(scene.ask_audit_log(masa.address, request).await, *log, "the same audit log");
    }
    assert_eq!(scene.ask(masa.address, &scene.request("a third nonce")).await.status, 200);
    masa.stop().await;
    // The last export is a beginning of what there is now.
    let file = scene.directory.path().join("two.jsonl");
    let since = VerifyOptions::new(Some(head), Some(&file), &[]);
    assert_eq!(verified_with(&scene, &since).await.unwrap().length, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_with_one_byte_changed_is_refused_everywhere() {
    let (scene, _) = scene().await;
    let (file, head) = export(&scene, &scene.config, "log.jsonl").await;
    let signers = signers(&scene.config);
    assert_eq!(verify(&file, &signers), Ok(head));
    let good = fs::read(&file).unwrap();
    let mut target = scene.config.clone();
    target.database = scene.directory.path().join("target.db").into();
    let last_line = good[..good.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    for place in (0..last_line).step_by(61) {
        let mut bad = good.clone();
        bad[place] ^= 1;
        fs::write(&file, &bad).unwrap();
        verify(&file, &signers).expect_err(&format!("byte {place}"));
        import_log(&target, &file, &[], &mut |_, _| ()).await.unwrap_err();
    }
    // Of the signature a few bytes mean nothing (RFC 5652, 5.1: digestAlgorithms). Then all else is what was signed.
    let mut harmless = 0;
    for place in last_line..good.len() {
        let mut bad = good.clone();
        bad[place] ^= 1;
        fs::write(&file, &bad).unwrap();
        if let Ok(verified) = verify(&file, &signers) {
            assert_eq!(verified, head, "byte {place}");
            harmless += 1;
        }
    }
    assert!(harmless < 24, "{harmless}");
    // Nor is one that ends early, or goes on.
    for bad in [&good[..good.len() / 2], b"", b"\n", &[&good[..], b"\n"].concat(), &[&good[..], &good].concat()] {
        fs::write(&file, bad).unwrap();
        verify(&file, &signers).expect_err("its end is not the end");
    }
    assert!(target.database.is_missing(), "nothing was written");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_entry_of_an_export_that_was_changed_is_named() {
    let (scene, _) = scene().await;
    let (file, _) = export(&scene, &scene.config, "log.jsonl").await;
    let text = fs::read_to_string(&file).unwrap();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 6, "the format, a device, three entries, the end");
    let without = |line: usize| [&lines[..line], &lines[line + 1..]].concat();
    let mut swapped = lines.clone();
    swapped.swap(2, 3);
    let changed = lines[3].replacen("proximity", "logged", 1);
    let mut of_other = lines.clone();
    of_other[3] = &changed;
    for (lines, expected) in [
        (of_other, "entry 2; number 2 of the device \"WI-3005\": it was changed"),
        (without(3), "entry 2; number 3 of the device \"WI-3005\": it is missing"),
        (without(4), "entry 3: it is missing"),
        (swapped, "entry 1; number 2 of the device \"WI-3005\": it is missing"),
        (without(1), "it was changed after it was signed"),
        (without(0), "line 1: it is no export of an audit log"),
    ] {
        fs::write(&file, lines.join("\n") + "\n").unwrap();
        let problem = verify(&file, &signers(&scene.config)).unwrap_err();
        assert!(problem.contains(expected), "{expected}: {problem}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_voucher_signer_signs_exports() {
    let (scene, _) = scene().await;
    let (file, head) = export(&scene, &scene.config, "log.jsonl").await;
    // A device has a certificate of the same CA.
    let problem = verify(&file, &scene.device.chain[..1]).unwrap_err();
    assert!(problem.contains("somebody else has signed it"), "{problem}");
    assert_eq!(verify(&file, &signers(&scene.config)), Ok(head));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_answers_later_signs_an_export() {
    let (scene, _) = scene().await;
    let service = MasaService::open(&scene.config).await.unwrap();
    let (sign, asked) = (service.voucher_signer(), Arc::new(AtomicUsize::new(0)));
    let counted = asked.clone();
    let later = Arc::new(move |scheme, message| {
        counted.fetch_add(1, Ordering::SeqCst);
        let signature = sign(scheme, message);
        Box::pin(async move {
            tokio::task::yield_now().await;
            signature.await
        }) as terse_net::tokio::Answer<_>
    });
    let mut out = Vec::new();
    let head = export_log(&scene.config, &mut out, Some(later), now(), &mut |_, _| ()).await.unwrap();
    let file = scene.directory.path().join("log.jsonl");
    fs::write(&file, out).unwrap();
    assert_eq!(verify(&file, &signers(&scene.config)), Ok(head));
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_says_which_entry_was_made_anew() {
    let (scene, _) = scene().await;
    let (file, head) = export(&scene, &scene.config, "log.jsonl").await;
    let since = VerifyOptions::new(None, Some(&file), &[]);
    assert_eq!(verified_with(&scene, &since).await, Ok(head));
    let mut hand = Hand::new(&scene).await;
    hand.run("UPDATE audit_log SET date = date - 86400 WHERE position = 2").await;
    hand.link_again(2..=3).await;
    assert_eq!(verified(&scene).await.unwrap().length, 3);
    let finding = verified_with(&scene, &since).await.unwrap_err();
    assert_eq!((finding.problem, finding.position, finding.number), (LogProblem::Earlier, Some(2), Some(2)));
    assert_eq!(finding.file, None, "it is the database that is wrong");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_is_not_exported() {
    let (scene, _) = scene().await;
    Hand::new(&scene).await.run("UPDATE audit_log SET date = date - 86400 WHERE position = 2").await;
    let mut out = Vec::new();
    let error = export_log(&scene.config, &mut out, None, now(), &mut |_, _| ()).await.unwrap_err().to_string();
    assert!(error.contains("entry 2"), "{error}");
    assert!(out.is_empty());
}
