//! The cases that Terse judges otherwise than x509-limbo expects, and why.

/// Cases with one reason.
type Group = (&'static str, &'static [&'static str]);

/// Expected to be refused, and accepted with path building and without.
const ACCEPTED: &[Group] = &[
    (
        "a trust anchor is a name and a key: nothing else in its certificate counts, except name constraints",
        &[
            "crl::issuer-missing-crlsign",
            "rfc5280::aki::critical-aki",
            "rfc5280::aki::cross-signed-root-missing-aki",
            "rfc5280::root-inconsistent-ca-extensions",
            "rfc5280::root-missing-basic-constraints",
            "rfc5280::root-non-critical-basic-constraints",
            "rfc5280::ski::critical-ski",
            "rfc5280::ski::root-missing-ski",
            "rfc5280::unknown-critical-extension-root",
            "rfc5280::validity::expired-root",
            "webpki::aki::root-with-aki-all-fields",
            "webpki::aki::root-with-aki-authoritycertissuer",
            "webpki::aki::root-with-aki-authoritycertserialnumber",
            "webpki::aki::root-with-aki-missing-keyidentifier",
            "webpki::aki::root-with-aki-ski-mismatch",
            "webpki::eku::root-has-eku",
            "webpki::forbidden-rsa-not-divisible-by-8-in-root",
        ],
    ),
    (
        "key identifiers help to find an issuer, and signatures decide",
        &[
            "rfc5280::aki::intermediate-missing-aki",
            "rfc5280::aki::leaf-missing-aki",
            "rfc5280::ski::intermediate-missing-ski",
        ],
    ),
    ("a cRLNumber is for the comparison of several lists", &["crl::crlnumber-critical", "crl::crlnumber-missing"]),
    ("the length of paths is not configured", &["pathlen::max-chain-depth-0-exhausted"]),
    ("policies are not processed, and refused where they are critical", &["rfc5280::pc::ica-noncritical-pc"]),
    (
        "only the names in subjectAltName count, whatever the subject says and whether the extension is critical",
        &[
            "rfc5280::san::noncritical-with-empty-subject",
            "webpki::cn::case-mismatch",
            "webpki::cn::ipv4-hex-mismatch",
            "webpki::cn::ipv4-leading-zeros-mismatch",
            "webpki::cn::ipv6-non-rfc5952-mismatch",
            "webpki::cn::ipv6-uncompressed-mismatch",
            "webpki::cn::ipv6-uppercase-mismatch",
            "webpki::cn::not-in-san",
            "webpki::cn::punycode-not-in-san",
            "webpki::cn::utf8-vs-punycode-mismatch",
            "webpki::san::san-critical-with-nonempty-subject",
        ],
    ),
    ("names of devices have underscores", &["rfc5280::san::underscore-dns"]),
    (
        "these are rules of the CA/Browser Forum for public servers",
        &[
            "webpki::eku::ee-anyeku",
            "webpki::eku::ee-critical-eku",
            "webpki::eku::ee-without-eku",
            "webpki::san::public-suffix-multi-label-wildcard-san",
            "webpki::san::public-suffix-private-namespace-wildcard-san",
        ],
    ),
    ("an extension that is not processed is not read", &["webpki::malformed-aia"]),
    ("a leaf is no CA, whatever its keyUsage says", &["rfc5280::leaf-ku-keycertsign"]),
    (
        "the key of a leaf counts when it signs the handshake",
        &[
            "webpki::forbidden-dsa-leaf",
            "webpki::forbidden-p192-leaf",
            "webpki::forbidden-rsa-key-not-divisible-by-8-in-leaf",
        ],
    ),
];

/// Expected to be refused, accepted with path building, and refused without.
const ACCEPTED_BY_BUILDING: &[Group] = &[
    (
        "without path building all name constraints are refused",
        &[
            "rfc5280::nc::invalid-dnsname-leading-period",
            "rfc5280::nc::not-allowed-in-ee-critical",
            "rfc5280::nc::not-allowed-in-ee-noncritical",
            "rfc5280::nc::permitted-dns-match-noncritical",
            "webpki::nc::intermediate-permitted-excluded-subtrees-both-empty-sequences",
            "webpki::nc::intermediate-permitted-excluded-subtrees-both-null",
        ],
    ),
    (
        "without path building a serial number and the name of an issuer are what RFC 5280, 4.1.2, says",
        &["rfc5280::ca-empty-subject", "rfc5280::serial::too-long", "rfc5280::serial::zero"],
    ),
    (
        "the length of paths is not configured; these certificates are not in order",
        &["pathlen::max-chain-depth-1-exhausted"],
    ),
];

/// Expected to be accepted, and refused with path building and without.
const REFUSED: &[Group] = &[
    ("a CA is no server", &["pathlen::validation-ignores-pathlen-in-leaf", "rfc5280::ca-as-leaf"]),
    ("self-issued certificates count for the path length", &["pathlen::self-issued-certs-pathlen"]),
    (
        "path building knows name constraints on dNSName and iPAddress alone, for self-issued certificates as well",
        &[
            "rfc5280::nc::nc-permits-email-domain",
            "rfc5280::nc::nc-permits-email-exact",
            "rfc5280::nc::nc-permits-email-literal-asterisk-exact-match",
            "rfc5280::nc::nc-permits-email-literal-double-asterisk",
            "rfc5280::nc::nc-permits-email-literal-mid-asterisk",
            "rfc5280::nc::permitted-dn-match",
            "rfc5280::nc::permitted-self-issued",
        ],
    ),
];

/// Expected to be accepted, accepted with path building, and refused without.
const REFUSED_IN_ORDER: &[Group] = &[
    (
        "without path building all name constraints are refused",
        &[
            "rfc5280::nc::excluded-different-constraint-type",
            "rfc5280::nc::nc-forbids-othername-noop",
            "rfc5280::nc::permitted-different-constraint-type",
            "rfc5280::nc::permitted-dns-match",
            "rfc5280::nc::permitted-dns-match-more",
            "rfc5280::nc::permitted-ipv4-match",
            "rfc5280::nc::permitted-ipv6-match",
            "webpki::nc::nc-permits-dns-san-pattern",
            "webpki::nc::permitted-dns-match-noncritical",
        ],
    ),
    (
        "the certificates are not in order, or more than one path is to be tried",
        &[
            "pathlen::intermediate-pathlen-may-increase",
            "rfc5280::nc::nc-forbids-alternate-chain-ica",
            "rfc5280::nc::nc-forbids-same-chain-ica",
        ],
    ),
    ("the name of a trust anchor ends the path", &["pathlen::max-chain-depth-1-self-issued"]),
];

/// Returns whether a case is judged as it is expected, with path building and without.
pub(crate) fn as_expected(id: &str, is_success: bool) -> (bool, bool) {
    let is_in = |groups: &[Group]| groups.iter().any(|(_, ids)| ids.contains(&id));
    let (both, one) = if is_success { (REFUSED, REFUSED_IN_ORDER) } else { (ACCEPTED, ACCEPTED_BY_BUILDING) };
    match (is_in(both), is_in(one), is_success) {
        (true, ..) => (false, false),
        (false, true, true) => (true, false),
        (false, true, false) => (false, true),
        (false, false, _) => (true, true),
    }
}

/// Returns all cases that are judged otherwise.
pub(crate) fn all() -> impl Iterator<Item = &'static str> {
    let groups = [ACCEPTED, ACCEPTED_BY_BUILDING, REFUSED, REFUSED_IN_ORDER].into_iter().flatten();
    groups.flat_map(|(_, ids)| ids.iter().copied())
}
