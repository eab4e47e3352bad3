//! Chains that path building accepts, or refuses for another reason, and validation without path building refuses.

use terse_tls::{AlertDescription as Alert, ApiMisuse, CertificateError as E};

/// A refusal by a side that does not build paths.
#[derive(Clone, Copy)]
pub(crate) enum Refusal {
    OfChain(E, Alert),
    /// The trust anchor is refused when it is configured.
    OfTrustAnchor(ApiMisuse),
}

const NO_PATH: Refusal = Refusal::OfChain(E::UnknownIssuer, Alert::UNKNOWN_CA);
const CONSTRAINED: Refusal = Refusal::OfChain(E::NameConstraints { depth: 1 }, Alert::UNSUPPORTED_CERTIFICATE);

/// The name of each specimen, how it is refused, and why. All other specimens are judged alike by both.
const DIFFERENT: [(&str, Refusal, &str); 12] = [
    ("in another order", NO_PATH, "the next certificate is not the issuer's"),
    ("root first", NO_PATH, "the next certificate is not the issuer's"),
    ("doubled", NO_PATH, "the next certificate is not the issuer's"),
    ("with a stranger", NO_PATH, "the next certificate is not the issuer's"),
    ("with a way out", NO_PATH, "a cross-certificate that comes later is not searched for"),
    ("permitted", CONSTRAINED, "name constraints are not processed"),
    ("others are permitted", CONSTRAINED, "name constraints are not processed"),
    ("a part of a label is permitted", CONSTRAINED, "name constraints are not processed"),
    ("excluded", CONSTRAINED, "name constraints are not processed"),
    ("permitted and excluded", CONSTRAINED, "name constraints are not processed"),
    (
        "not permitted by the trust anchor",
        Refusal::OfTrustAnchor(ApiMisuse::ConstrainedTrustAnchor),
        "name constraints are not processed",
    ),
    (
        "an empty serial number",
        Refusal::OfChain(E::Malformed, Alert::BAD_CERTIFICATE),
        "a serial number is an integer greater than zero (RFC 5280, 4.1.2.2)",
    ),
];

/// Returns how a specimen is refused without path building, if it is judged otherwise than with it.
pub(crate) fn refusal(name: &str) -> Option<Refusal> {
    DIFFERENT.iter().find(|(different, ..)| *different == name).map(|(_, refusal, _)| *refusal)
}

#[test]
fn every_difference_is_that_of_one_specimen() {
    let animals = [
        include_str!("encodings.rs"),
        include_str!("issuers.rs"),
        include_str!("leaves.rs"),
        include_str!("shapes.rs"),
    ];
    for (name, _, reason) in DIFFERENT {
        let quoted = format!("\"{name}\"");
        let times: usize = animals.iter().map(|animals| animals.matches(&quoted).count()).sum();
        assert_eq!(times, 1, "{name}: {reason}");
    }
}
