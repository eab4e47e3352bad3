//! Vectors of path validation: the test cases of x509-limbo (https://x509-limbo.com), judged with path building and
//! without. No package has its file, so that this runs by hand alone, where `TERSE_LIMBO` names the file; the vectors that
//! always run are those of `tests/pkits`.
//!
//! x509-limbo says what RFC 5280, the CA/Browser Forum and its authors want. Where Terse judges otherwise, a table says why ([`different`]).

use core::time::Duration;
use std::env;
use std::fs;

use pki_types::pem::PemObject as _;
use pki_types::{CertificateDer, CertificateRevocationListDer, ServerName, UnixTime};
use serde_json::Value;
use terse_testkit::pki::unix_time;
use terse_tls::{ApiMisuse, Expect, Trust};
use x509_cert::der::DateTime;

use crate::pkits::judged::Judged;

mod different;

struct Case<'a>(&'a Value);

impl<'a> Case<'a> {
    fn text(&self, field: &str) -> &'a str {
        self.0[field].as_str().unwrap_or_default()
    }

    fn pem<T: pki_types::pem::PemObject>(&self, field: &str) -> Vec<T> {
        let of = |value: &Value| T::from_pem_slice(value.as_str().unwrap().as_bytes()).unwrap();
        self.0[field].as_array().into_iter().flatten().map(of).collect()
    }

    fn time(&self) -> UnixTime {
        match self.text("validation_time") {
            "" => unix_time(0),
            time => {
                let seconds: DateTime = format!("{}Z", &time[..19]).parse().unwrap();
                UnixTime::since_unix_epoch(Duration::from_secs(seconds.unix_duration().as_secs()))
            }
        }
    }

    fn judge(&self, trust: fn(&[CertificateDer<'_>]) -> Result<Trust, ApiMisuse>) -> Judged {
        let leaf = CertificateDer::from_pem_slice(self.text("peer_certificate").as_bytes()).unwrap();
        let chain: Vec<_> = core::iter::once(leaf).chain(self.pem("untrusted_intermediates")).collect();
        let crls: Vec<CertificateRevocationListDer<'_>> = self.pem("crls");
        let trust = trust(&self.pem::<CertificateDer<'_>>("trusted_certs")).and_then(|trust| match crls.is_empty() {
            true => Ok(trust),
            false => trust.with_crls(&crls),
        });
        let name = self.0["expected_peer_name"]["value"].as_str().map(|name| ServerName::try_from(name).unwrap());
        let expect = match (&name, self.text("validation_kind")) {
            (Some(name), "SERVER") => Expect::Server(name),
            (_, "CLIENT") => Expect::Client,
            _ => Expect::AnyUsage,
        };
        Judged::by(&trust, &chain, expect, self.time())
    }
}

/// Cases from the web, with name constraints by the thousand or of public servers: what one way to validate accepts, the
/// other does as well, and no more is asked of them.
const ONLY_COMPARED: [&str; 2] = ["bettertls::", "online::"];

#[test]
#[ignore = "by hand: TERSE_LIMBO=…/limbo.json cargo test -p terse-tls --test all limbo:: -- --ignored"]
fn limbo() {
    let path = env::var_os("TERSE_LIMBO").expect("TERSE_LIMBO names the file limbo.json of x509-limbo");
    let suite: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let mut seen = Vec::new();
    for case in suite["testcases"].as_array().unwrap().iter().map(Case) {
        let id = case.text("id");
        let (building, in_order) = (case.judge(Trust::new), case.judge(Trust::without_path_building));
        assert!(building.is_accepted() || !in_order.is_accepted(), "{id}: {building:?} with path building");
        if ONLY_COMPARED.iter().any(|prefix| id.starts_with(prefix)) {
            continue;
        }
        let expected = case.text("expected_result") == "SUCCESS";
        let judged = (building.is_accepted() == expected, in_order.is_accepted() == expected);
        assert_eq!(judged, different::as_expected(id, expected), "{id}: {building:?}, {in_order:?}");
        seen.push(id.to_owned());
    }
    let unseen: Vec<_> = different::all().filter(|id| !seen.iter().any(|seen| seen == id)).collect();
    assert!(unseen.is_empty(), "{unseen:?} are no cases");
}
