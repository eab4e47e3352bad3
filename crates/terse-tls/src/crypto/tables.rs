//! The tables that all providers with the usual algorithms share: the suites with their components, and the signature
//! algorithms of each scheme.

/// Defines the cipher suites of a provider, and the lists `ALL_TLS13` and `ALL_TLS12`. Each suite is a `static` of its
/// own, so that a linker drops those that a firmware does not name.
///
/// Modules must be in scope where it is called: `hash` with `SHA256` and `SHA384`; `aead` with `AES_128_GCM`,
/// `AES_256_GCM`, `CHACHA20_POLY1305`, `AES_128_CCM` and `AES_128_CCM_8`; `record_number` with `AES_128`, `AES_256` and
/// `CHACHA20`.
#[macro_export]
macro_rules! define_cipher_suites {
    () => {
        /// All suites of TLS 1.3, preferred first. AES-GCM is first because hardware for it is common; CCM is last
        /// because it trades speed for a shorter tag.
        pub static ALL_TLS13: &[&$crate::crypto::Tls13Suite] = &[
            &TLS_AES_128_GCM_SHA256,
            &TLS_AES_256_GCM_SHA384,
            &TLS_CHACHA20_POLY1305_SHA256,
            &TLS_AES_128_CCM_SHA256,
            &TLS_AES_128_CCM_8_SHA256,
        ];

        /// All suites of TLS 1.2, preferred first. The ciphers have the order of TLS 1.3, and suites with pre-shared
        /// keys are last.
        pub static ALL_TLS12: &[&$crate::crypto::Tls12Suite] = &[
            &TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
            &TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
            &TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
            &TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
            &TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
            &TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
            &TLS_ECDHE_ECDSA_WITH_AES_128_CCM,
            &TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8,
            &TLS_ECDHE_PSK_WITH_AES_128_CCM_8_SHA256,
            &TLS_PSK_WITH_AES_128_CCM_8,
        ];

        /// AES-128-GCM with SHA-256, the suite that every implementation has.
        pub static TLS_AES_128_GCM_SHA256: $crate::crypto::Tls13Suite = $crate::crypto::Tls13Suite::new(
            $crate::CipherSuite::TLS_AES_128_GCM_SHA256,
            hash::SHA256,
            aead::AES_128_GCM,
            record_number::AES_128,
            $crate::crypto::KeyLimits::AES_GCM,
        );

        /// AES-256-GCM with SHA-384.
        pub static TLS_AES_256_GCM_SHA384: $crate::crypto::Tls13Suite = $crate::crypto::Tls13Suite::new(
            $crate::CipherSuite::TLS_AES_256_GCM_SHA384,
            hash::SHA384,
            aead::AES_256_GCM,
            record_number::AES_256,
            $crate::crypto::KeyLimits::AES_GCM,
        );

        /// ChaCha20-Poly1305 with SHA-256, the fastest suite without AES instructions.
        pub static TLS_CHACHA20_POLY1305_SHA256: $crate::crypto::Tls13Suite = $crate::crypto::Tls13Suite::new(
            $crate::CipherSuite::TLS_CHACHA20_POLY1305_SHA256,
            hash::SHA256,
            aead::CHACHA20_POLY1305,
            record_number::CHACHA20,
            $crate::crypto::KeyLimits::CHACHA20_POLY1305,
        );

        /// AES-128-CCM with SHA-256.
        pub static TLS_AES_128_CCM_SHA256: $crate::crypto::Tls13Suite = $crate::crypto::Tls13Suite::new(
            $crate::CipherSuite::TLS_AES_128_CCM_SHA256,
            hash::SHA256,
            aead::AES_128_CCM,
            record_number::AES_128,
            $crate::crypto::KeyLimits::AES_CCM,
        );

        /// AES-128-CCM with SHA-256 and an 8-byte tag, which saves 8 bytes in each record. It is not for DTLS, which
        /// tolerates forgeries (RFC 9147, 4.5.3).
        pub static TLS_AES_128_CCM_8_SHA256: $crate::crypto::Tls13Suite = $crate::crypto::Tls13Suite::new(
            $crate::CipherSuite::TLS_AES_128_CCM_8_SHA256,
            hash::SHA256,
            aead::AES_128_CCM_8,
            record_number::AES_128,
            $crate::crypto::KeyLimits::AES_CCM_8,
        );

        /// AES-128-GCM, for an ECDSA or EdDSA key (RFC 5289, 3.2).
        pub static TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: $crate::crypto::Tls12Suite =
            $crate::crypto::Tls12Suite::new(
                $crate::CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
                $crate::crypto::Tls12KeyExchange::EcdheEcdsa,
                hash::SHA256,
                aead::AES_128_GCM,
                $crate::crypto::Tls12Nonce::Explicit,
                $crate::crypto::KeyLimits::AES_GCM,
            );

        /// AES-128-GCM, for an RSA key (RFC 5289, 3.2).
        pub static TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: $crate::crypto::Tls12Suite = $crate::crypto::Tls12Suite::new(
            $crate::CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
            $crate::crypto::Tls12KeyExchange::EcdheRsa,
            hash::SHA256,
            aead::AES_128_GCM,
            $crate::crypto::Tls12Nonce::Explicit,
            $crate::crypto::KeyLimits::AES_GCM,
        );

        /// AES-256-GCM, for an ECDSA or EdDSA key (RFC 5289, 3.2).
        pub static TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: $crate::crypto::Tls12Suite =
            $crate::crypto::Tls12Suite::new(
                $crate::CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
                $crate::crypto::Tls12KeyExchange::EcdheEcdsa,
                hash::SHA384,
                aead::AES_256_GCM,
                $crate::crypto::Tls12Nonce::Explicit,
                $crate::crypto::KeyLimits::AES_GCM,
            );

        /// AES-256-GCM, for an RSA key (RFC 5289, 3.2).
        pub static TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384: $crate::crypto::Tls12Suite = $crate::crypto::Tls12Suite::new(
            $crate::CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
            $crate::crypto::Tls12KeyExchange::EcdheRsa,
            hash::SHA384,
            aead::AES_256_GCM,
            $crate::crypto::Tls12Nonce::Explicit,
            $crate::crypto::KeyLimits::AES_GCM,
        );

        /// ChaCha20-Poly1305, for an ECDSA or EdDSA key (RFC 7905, 3).
        pub static TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: $crate::crypto::Tls12Suite =
            $crate::crypto::Tls12Suite::new(
                $crate::CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
                $crate::crypto::Tls12KeyExchange::EcdheEcdsa,
                hash::SHA256,
                aead::CHACHA20_POLY1305,
                $crate::crypto::Tls12Nonce::Implicit,
                $crate::crypto::KeyLimits::CHACHA20_POLY1305,
            );

        /// ChaCha20-Poly1305, for an RSA key (RFC 7905, 3).
        pub static TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256: $crate::crypto::Tls12Suite =
            $crate::crypto::Tls12Suite::new(
                $crate::CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
                $crate::crypto::Tls12KeyExchange::EcdheRsa,
                hash::SHA256,
                aead::CHACHA20_POLY1305,
                $crate::crypto::Tls12Nonce::Implicit,
                $crate::crypto::KeyLimits::CHACHA20_POLY1305,
            );

        /// AES-128-CCM, for an ECDSA or EdDSA key (RFC 7251, 2).
        pub static TLS_ECDHE_ECDSA_WITH_AES_128_CCM: $crate::crypto::Tls12Suite = $crate::crypto::Tls12Suite::new(
            $crate::CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_CCM,
            $crate::crypto::Tls12KeyExchange::EcdheEcdsa,
            hash::SHA256,
            aead::AES_128_CCM,
            $crate::crypto::Tls12Nonce::Explicit,
            $crate::crypto::KeyLimits::AES_CCM,
        );

        /// AES-128-CCM with an 8-byte tag, for an ECDSA or EdDSA key (RFC 7251, 2).
        pub static TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8: $crate::crypto::Tls12Suite = $crate::crypto::Tls12Suite::new(
            $crate::CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8,
            $crate::crypto::Tls12KeyExchange::EcdheEcdsa,
            hash::SHA256,
            aead::AES_128_CCM_8,
            $crate::crypto::Tls12Nonce::Explicit,
            $crate::crypto::KeyLimits::AES_CCM_8,
        );

        /// AES-128-CCM with an 8-byte tag, for a pre-shared key with forward secrecy (RFC 8442, 3).
        pub static TLS_ECDHE_PSK_WITH_AES_128_CCM_8_SHA256: $crate::crypto::Tls12Suite =
            $crate::crypto::Tls12Suite::new(
                $crate::CipherSuite::TLS_ECDHE_PSK_WITH_AES_128_CCM_8_SHA256,
                $crate::crypto::Tls12KeyExchange::EcdhePsk,
                hash::SHA256,
                aead::AES_128_CCM_8,
                $crate::crypto::Tls12Nonce::Explicit,
                $crate::crypto::KeyLimits::AES_CCM_8,
            );

        /// AES-128-CCM with an 8-byte tag, for a pre-shared key alone (RFC 6655, 5). It is small, but not forward
        /// secret: whoever learns the key can read all earlier connections.
        pub static TLS_PSK_WITH_AES_128_CCM_8: $crate::crypto::Tls12Suite = $crate::crypto::Tls12Suite::new(
            $crate::CipherSuite::TLS_PSK_WITH_AES_128_CCM_8,
            $crate::crypto::Tls12KeyExchange::Psk,
            hash::SHA256,
            aead::AES_128_CCM_8,
            $crate::crypto::Tls12Nonce::Explicit,
            $crate::crypto::KeyLimits::AES_CCM_8,
        );
    };
}

/// Defines `ALL`, the signature algorithms of a provider, and the schemes (RFC 9846, 4.3.3) that they serve, preferred
/// first.
///
/// The algorithms must be in scope where it is called: `ECDSA_P256_SHA256` and so on, each a
/// `&dyn SignatureVerificationAlgorithm`.
#[macro_export]
macro_rules! define_signature_algorithms {
    () => {
        /// All algorithms, and the schemes (RFC 9846, 4.3.3) that they serve, preferred first.
        ///
        /// An ECDSA scheme determines the curve in TLS 1.3. In TLS 1.2 it only determines the hash, and the algorithm
        /// of the other curve is in `all`. The PKCS#1 schemes sign certificates, and handshakes in TLS 1.2.
        pub static ALL: $crate::crypto::SignatureAlgorithms = $crate::crypto::SignatureAlgorithms::new(
            &[
                ECDSA_P256_SHA256,
                ECDSA_P256_SHA384,
                ECDSA_P384_SHA256,
                ECDSA_P384_SHA384,
                ED25519,
                RSA_PSS_SHA256,
                RSA_PSS_SHA384,
                RSA_PSS_SHA512,
                RSA_PKCS1_SHA256,
                RSA_PKCS1_SHA384,
                RSA_PKCS1_SHA512,
            ],
            &[
                ($crate::SignatureScheme::ECDSA_SECP256R1_SHA256, &[ECDSA_P256_SHA256]),
                ($crate::SignatureScheme::ECDSA_SECP384R1_SHA384, &[ECDSA_P384_SHA384]),
                ($crate::SignatureScheme::ED25519, &[ED25519]),
                ($crate::SignatureScheme::RSA_PSS_RSAE_SHA256, &[RSA_PSS_SHA256]),
                ($crate::SignatureScheme::RSA_PSS_RSAE_SHA384, &[RSA_PSS_SHA384]),
                ($crate::SignatureScheme::RSA_PSS_RSAE_SHA512, &[RSA_PSS_SHA512]),
                ($crate::SignatureScheme::RSA_PKCS1_SHA256, &[RSA_PKCS1_SHA256]),
                ($crate::SignatureScheme::RSA_PKCS1_SHA384, &[RSA_PKCS1_SHA384]),
                ($crate::SignatureScheme::RSA_PKCS1_SHA512, &[RSA_PKCS1_SHA512]),
            ],
        );

        /// ECDSA on P-256 with SHA-256 alone, in certificates and in handshakes: a firmware for such a PKI has no other algorithm.
        pub static P256: $crate::crypto::SignatureAlgorithms = $crate::crypto::SignatureAlgorithms::new(
            &[ECDSA_P256_SHA256],
            &[($crate::SignatureScheme::ECDSA_SECP256R1_SHA256, &[ECDSA_P256_SHA256])],
        );
    };
}
