//! The cases that Terse judges otherwise than PKITS expects, and why; and those that nobody can judge without CRLs.

/// Whether a case is accepted with path building, and without.
type Accepted = (bool, bool);

/// Cases with one reason: who accepts them without CRLs, and with CRLs.
type Group = (&'static str, [Accepted; 2], &'static [&'static str]);

const BY_BOTH: Accepted = (true, true);
const BY_BUILDING: Accepted = (true, false);
const BY_NONE: Accepted = (false, false);

/// Expected to be accepted.
const REFUSED: &[Group] = &[
    (
        "policies are not processed, and their critical extensions are refused",
        [BY_NONE, BY_NONE],
        &[
            "ValidinhibitAnyPolicyTest2",
            "ValidinhibitPolicyMappingTest2",
            "ValidinhibitPolicyMappingTest4",
            "ValidPolicyMappingTest1",
            "ValidPolicyMappingTest3",
            "ValidPolicyMappingTest5",
            "ValidPolicyMappingTest6",
            "ValidPolicyMappingTest9",
            "ValidPolicyMappingTest11",
            "ValidPolicyMappingTest12",
            "ValidPolicyMappingTest13",
            "ValidPolicyMappingTest14",
            "ValidrequireExplicitPolicyTest1",
            "ValidrequireExplicitPolicyTest2",
            "ValidrequireExplicitPolicyTest4",
            "ValidSelfIssuedinhibitAnyPolicyTest7",
            "ValidSelfIssuedinhibitAnyPolicyTest9",
            "ValidSelfIssuedinhibitPolicyMappingTest7",
            "ValidSelfIssuedrequireExplicitPolicyTest6",
        ],
    ),
    (
        "names are compared byte by byte",
        [BY_NONE, BY_NONE],
        &[
            "ValidNameChainingCapitalizationTest5",
            "ValidNameChainingWhitespaceTest3",
            "ValidNameChainingWhitespaceTest4",
            "ValidRolloverfromPrintableStringtoUTF8StringTest10",
            "ValidUTF8StringCaseInsensitiveMatchTest11",
        ],
    ),
    (
        "path building knows name constraints on dNSName and iPAddress alone, and without it all are refused",
        [BY_NONE, BY_NONE],
        &[
            "ValidDNandRFC822nameConstraintsTest27",
            "ValidDNnameConstraintsTest1",
            "ValidDNnameConstraintsTest4",
            "ValidDNnameConstraintsTest5",
            "ValidDNnameConstraintsTest6",
            "ValidDNnameConstraintsTest11",
            "ValidDNnameConstraintsTest14",
            "ValidDNnameConstraintsTest18",
            "ValidDNnameConstraintsTest19",
            "ValidRFC822nameConstraintsTest21",
            "ValidRFC822nameConstraintsTest23",
            "ValidRFC822nameConstraintsTest25",
            "ValidURInameConstraintsTest34",
            "ValidURInameConstraintsTest36",
        ],
    ),
    (
        "without path building all name constraints are refused",
        [BY_BUILDING, BY_BUILDING],
        &["ValidDNSnameConstraintsTest30", "ValidDNSnameConstraintsTest32"],
    ),
    (
        "self-issued certificates count for the path length",
        [BY_NONE, BY_NONE],
        &["ValidSelfIssuedpathLenConstraintTest15", "ValidSelfIssuedpathLenConstraintTest17"],
    ),
    (
        "a CA is no peer",
        [BY_NONE, BY_NONE],
        &["ValidonlyContainsCACertsTest13", "ValidpathLenConstraintTest8", "ValidpathLenConstraintTest14"],
    ),
    ("DSA is not supported", [BY_NONE, BY_NONE], &["ValidDSAParameterInheritanceTest5", "ValidDSASignaturesTest4"]),
    ("no time is before 1970", [BY_NONE, BY_NONE], &["Validpre2000UTCnotBeforeDateTest3"]),
    (
        "the unique identifiers of issuer and subject are refused: nobody uses them (RFC 5280, 4.1.2.8)",
        [BY_NONE, BY_NONE],
        &["ValidNameUIDsTest6"],
    ),
    (
        "a CRL counts only if it is signed with the key that has signed the certificate",
        [BY_BOTH, BY_NONE],
        &[
            "ValidBasicSelfIssuedCRLSigningKeyTest6",
            "ValidBasicSelfIssuedNewWithOldTest4",
            "ValidBasicSelfIssuedOldWithNewTest1",
            "ValidSeparateCertificateandCRLKeysTest19",
        ],
    ),
    (
        "a CRL counts only if it is the issuer's, and indirect CRLs are not read",
        [BY_BOTH, BY_NONE],
        &[
            "ValidcRLIssuerTest28",
            "ValidcRLIssuerTest29",
            "ValidcRLIssuerTest30",
            "ValidcRLIssuerTest33",
            "ValidIDPwithindirectCRLTest22",
            "ValidIDPwithindirectCRLTest24",
            "ValidIDPwithindirectCRLTest25",
        ],
    ),
    (
        "delta CRLs are not read",
        [BY_BOTH, BY_NONE],
        &["ValiddeltaCRLTest2", "ValiddeltaCRLTest5", "ValiddeltaCRLTest7", "ValiddeltaCRLTest8"],
    ),
    (
        "a distribution point has a URI: other names of it are not compared, and a relative name is not read",
        [BY_BOTH, BY_NONE],
        &[
            "ValiddistributionPointTest1",
            "ValiddistributionPointTest4",
            "ValiddistributionPointTest5",
            "ValiddistributionPointTest7",
        ],
    ),
    (
        "CRLs for some reasons alone are not read",
        [BY_BOTH, BY_NONE],
        &["ValidonlySomeReasonsTest18", "ValidonlySomeReasonsTest19"],
    ),
];

/// Expected to be refused, which only CRLs can show.
const REFUSED_BY_CRLS: &[Group] = &[
    (
        "everything but the revocation status is right",
        [BY_BOTH, BY_NONE],
        &[
            "InvalidBadCRLIssuerNameTest5",
            "InvalidBadCRLSignatureTest4",
            "InvalidBasicSelfIssuedCRLSigningKeyTest7",
            "InvalidBasicSelfIssuedNewWithOldTest5",
            "InvalidBasicSelfIssuedOldWithNewTest2",
            "InvalidcRLIssuerTest27",
            "InvalidcRLIssuerTest31",
            "InvalidcRLIssuerTest32",
            "InvalidcRLIssuerTest34",
            "InvalidcRLIssuerTest35",
            "InvaliddeltaCRLTest3",
            "InvaliddeltaCRLTest4",
            "InvaliddeltaCRLTest6",
            "InvaliddeltaCRLTest9",
            "InvaliddeltaCRLTest10",
            "InvaliddeltaCRLIndicatorNoBaseTest1",
            "InvaliddistributionPointTest2",
            "InvaliddistributionPointTest3",
            "InvaliddistributionPointTest6",
            "InvaliddistributionPointTest8",
            "InvaliddistributionPointTest9",
            "InvalidIDPwithindirectCRLTest23",
            "InvalidIDPwithindirectCRLTest26",
            "InvalidkeyUsageCriticalcRLSignFalseTest4",
            "InvalidkeyUsageNotCriticalcRLSignFalseTest5",
            "InvalidLongSerialNumberTest18",
            "InvalidMissingCRLTest1",
            "InvalidOldCRLnextUpdateTest11",
            "InvalidonlyContainsAttributeCertsTest14",
            "InvalidonlyContainsCACertsTest12",
            "InvalidonlySomeReasonsTest15",
            "InvalidonlySomeReasonsTest16",
            "InvalidonlySomeReasonsTest17",
            "InvalidonlySomeReasonsTest20",
            "InvalidonlySomeReasonsTest21",
            "Invalidpre2000CRLnextUpdateTest12",
            "InvalidRevokedCATest2",
            "InvalidRevokedEETest3",
            "InvalidSeparateCertificateandCRLKeysTest20",
            "InvalidSeparateCertificateandCRLKeysTest21",
            "InvalidUnknownCRLEntryExtensionTest8",
            "InvalidUnknownCRLExtensionTest9",
            "InvalidUnknownCRLExtensionTest10",
            "InvalidWrongCRLTest6",
        ],
    ),
    (
        "the serial number is negative, which is refused without path building",
        [BY_BUILDING, BY_NONE],
        &["InvalidNegativeSerialNumberTest15"],
    ),
];

/// Returns who accepts a case, without CRLs and with them.
pub(crate) fn expected(name: &str, is_valid: bool) -> [Accepted; 2] {
    let groups = if is_valid { REFUSED } else { REFUSED_BY_CRLS };
    let group = groups.iter().find(|(.., cases)| cases.contains(&name));
    group.map_or([(is_valid, is_valid); 2], |(_, accepted, _)| *accepted)
}

/// Returns all cases of the tables.
pub(crate) fn all() -> impl Iterator<Item = &'static str> {
    [REFUSED, REFUSED_BY_CRLS].into_iter().flatten().flat_map(|(.., cases)| cases.iter().copied())
}
