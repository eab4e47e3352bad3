//! Whether a registrar could run: its configuration, certificates, keys and CA.

use core::net::SocketAddr;
use std::path::Path;

use pki_types::CertificateRevocationListDer;
use terse_net::Clock;
use terse_pki::Authority;
use terse_tls::{Expect, KeyPurposeId, Trust};
use x509_cert::crl::CertificateList;
use x509_cert::der::Decode as _;

use super::config::Config;
use super::settings::{PROVIDER, Settings};
use crate::config::{ConfigError, beside, is_readable_by_others};

/// Reads the configuration at `path` and everything that it names but the database, which may be another process's: if that is
/// on a server, it connects there. Returns what works, and should be different.
pub async fn check(path: &Path, clock: Clock) -> Result<Vec<String>, ConfigError> {
    let settings = Settings::load(path, clock)?;
    let mut warnings = Vec::new();
    let config = &settings.config;
    if config.names.is_empty() {
        warnings.push("names is empty; give the registrar's own names, to which no MASA URL may lead".into());
    }
    // The highest of the own certificates stands for whoever has issued them.
    if let Some(top) = settings.chain.last().filter(|_| settings.chain.len() > 1) {
        let checked = Trust::new(std::slice::from_ref(top)).map_err(|error| error.to_string()).and_then(|trust| {
            let now = clock.now().unix;
            let checked = trust.check(PROVIDER, &settings.chain, Expect::Usage(KeyPurposeId::CMC_RA), now);
            checked.map(|_| ()).map_err(|error| error.to_string())
        });
        if let Err(problem) = checked {
            warnings.push(format!("{}: MASAs will refuse it: {problem}", config.chain.display()));
        }
    } else {
        warnings.push(format!("{}: MASAs can pin no CA; add the chain up to the root", config.chain.display()));
    }
    for key in secrets(path, config) {
        if is_readable_by_others(&key) {
            warnings.push(format!("{}: others can read it; run chmod 600", key.display()));
        }
    }
    warnings.extend(settings.database.check().await?);
    let is_loopback = config.listen.parse::<SocketAddr>().is_ok_and(|address| address.ip().is_loopback());
    let is_open = |health: &String| health.parse::<SocketAddr>().is_ok_and(|address| !address.ip().is_loopback());
    if config.metrics && config.health.as_ref().is_some_and(is_open) {
        warnings.push("health is no loopback address: everybody who reaches it can read /metrics".into());
    }
    if config.announce && is_loopback {
        warnings.push("announce is true, but nobody else reaches a loopback address; change listen".into());
    }
    for address in config.coaps.iter().flat_map(|own| core::iter::once(&own.listen).chain(&own.jpy)) {
        if address.parse::<SocketAddr>().is_ok_and(|address| address.ip().is_unspecified()) {
            warnings
                .push(format!("[coaps] {address}: answers come from any address of this machine; give the one asked"));
        }
    }
    if settings.domain.is_none() {
        warnings.push("there is no [enrolment]: devices get vouchers, and no certificates".into());
    }
    if let Some(former) = settings.domain.as_ref().and_then(|domain| domain.former()).filter(|former| !former.is_closed)
        && let Some(crls) = former.trust.file().await
        && crls.iter().any(|crl| is_late(crl, clock))
    {
        warnings.push(
            "crl.pem of former_ca is late: no LDevID of it is renewed; sign a new list by `terse pki crl`, or set \
             former_ca_is_closed = true if that CA signs no more lists"
                .into(),
        );
    }
    Ok(warnings)
}

/// Whether the nextUpdate of a list has come. One without it is never late.
fn is_late(crl: &CertificateRevocationListDer<'_>, clock: Clock) -> bool {
    let next_update = <CertificateList>::from_der(crl).ok().and_then(|list| list.tbs_cert_list.next_update);
    let (Some(next_update), Some(now)) = (next_update, clock.now().unix) else { return false };
    next_update.to_date_time().unix_duration().as_secs() < now.as_secs()
}

fn secrets(path: &Path, config: &Config) -> Vec<std::path::PathBuf> {
    let of_manufacturers =
        config.manufacturers.iter().flat_map(|one| one.masa_key.iter().chain(&one.masa_password_file));
    let est_server = config.enrolment.as_ref().and_then(|enrolment| enrolment.est_server.as_ref());
    let of_est_server = est_server.into_iter().flat_map(|one| one.key.iter().chain(&one.password_file));
    let generator = config.identity.iter().map(|own| beside(path, &own.pkg).join("pkg.pem"));
    let ca = config.enrolment.as_ref().and_then(|enrolment| enrolment.ca.as_ref());
    let of_ca = ca.into_iter().flat_map(|ca| Authority::secret_files(&beside(path, ca)));
    let pages = config.pages.iter().flat_map(|pages| &pages.key);
    let others = core::iter::once(&config.key).chain(pages).chain(of_manufacturers).chain(of_est_server);
    others.map(|file| beside(path, file)).chain(generator).chain(of_ca).collect()
}
