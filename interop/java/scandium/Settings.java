import static java.util.concurrent.TimeUnit.MILLISECONDS;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.security.spec.X509EncodedKeySpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.function.IntFunction;
import org.eclipse.californium.elements.auth.RawPublicKeyIdentity;
import org.eclipse.californium.elements.config.CertificateAuthenticationMode;
import org.eclipse.californium.elements.config.Configuration;
import org.eclipse.californium.scandium.DatagramFilter;
import org.eclipse.californium.scandium.config.DtlsConfig;
import org.eclipse.californium.scandium.config.DtlsConfig.DtlsRole;
import org.eclipse.californium.scandium.config.DtlsConnectorConfig;
import org.eclipse.californium.scandium.dtls.CertificateType;
import org.eclipse.californium.scandium.dtls.ExtendedMasterSecretMode;
import org.eclipse.californium.scandium.dtls.InMemorySessionStore;
import org.eclipse.californium.scandium.dtls.MaxFragmentLengthExtension;
import org.eclipse.californium.scandium.dtls.SessionListener;
import org.eclipse.californium.scandium.dtls.SignatureAndHashAlgorithm;
import org.eclipse.californium.scandium.dtls.cipher.CipherSuite;
import org.eclipse.californium.scandium.dtls.cipher.XECDHECryptography.SupportedGroup;
import org.eclipse.californium.scandium.dtls.pskstore.AdvancedSinglePskStore;
import org.eclipse.californium.scandium.dtls.x509.SingleCertificateProvider;
import org.eclipse.californium.scandium.dtls.x509.StaticNewAdvancedCertificateVerifier;

/** Configures Scandium as the command line asks. Everything else keeps Scandium's default. */
final class Settings {
    private final boolean server;
    private final DtlsConnectorConfig.Builder builder;

    private Settings(boolean server, DtlsConnectorConfig.Builder builder) {
        this.server = server;
        this.builder = builder;
    }

    static DtlsConnectorConfig of(boolean server, SessionListener listener, DatagramFilter filter) throws Exception {
        DtlsConfig.register();
        DtlsConnectorConfig.Builder builder = DtlsConnectorConfig.builder(new Configuration());
        builder.setAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        builder.setSessionListener(listener);
        builder.setDatagramFilter(filter);
        Settings settings = new Settings(server, builder);
        settings.setCryptography();
        settings.setDatagrams();
        settings.setIdentities();
        settings.setSessions();
        return builder.build();
    }

    private static String word(String name) {
        return Scandium.words.get(name);
    }

    private static int number(String name, int otherwise) {
        return word(name) == null ? otherwise : Integer.parseInt(word(name));
    }

    private static <T> List<T> list(String name, IntFunction<T> of) {
        return Arrays.stream(word(name).split(",")).map(code -> of.apply(Integer.parseInt(code, 16))).toList();
    }

    private void setCryptography() {
        builder.set(DtlsConfig.DTLS_RECOMMENDED_CIPHER_SUITES_ONLY, false);
        builder.set(DtlsConfig.DTLS_RECOMMENDED_CURVES_ONLY, false);
        builder.set(DtlsConfig.DTLS_RECOMMENDED_SIGNATURE_AND_HASH_ALGORITHMS_ONLY, false);
        if (word("suites") != null) {
            builder.set(DtlsConfig.DTLS_CIPHER_SUITES, list("suites", CipherSuite::getTypeByCode));
        }
        List<SignatureAndHashAlgorithm> schemes = List.of(SignatureAndHashAlgorithm.SHA256_WITH_ECDSA,
                SignatureAndHashAlgorithm.SHA384_WITH_ECDSA, SignatureAndHashAlgorithm.SHA256_WITH_RSA);
        if (word("schemes") != null) {
            schemes = list("schemes", code -> new SignatureAndHashAlgorithm(code >> 8, code & 0xff));
        }
        if (word("identity") == null) { // with which Scandium does not start
            builder.set(DtlsConfig.DTLS_SIGNATURE_AND_HASH_ALGORITHMS, schemes);
        }
    }

    private void setDatagrams() {
        builder.set(DtlsConfig.DTLS_RETRANSMISSION_TIMEOUT, 1000, MILLISECONDS);
        builder.set(DtlsConfig.DTLS_ADDITIONAL_ECC_TIMEOUT, 0, MILLISECONDS);
        if (server) {
            builder.set(DtlsConfig.DTLS_USE_HELLO_VERIFY_REQUEST, number("cookie", 0) == 1);
        }
        if (word("datagram") != null) {
            final int headers = 28; // of IPv4 and UDP
            final int least = 128; // with less it sends nothing
            final int unit = Math.max(least, number("datagram", 0) + headers);
            builder.set(DtlsConfig.DTLS_MAX_TRANSMISSION_UNIT, unit);
        }
        if (word("connection-id") != null) {
            builder.set(DtlsConfig.DTLS_CONNECTION_ID_LENGTH, number("connection-id", 0));
        }
        if (word("record-size-limit") != null) {
            builder.set(DtlsConfig.DTLS_RECORD_SIZE_LIMIT, number("record-size-limit", 0));
        }
        if (word("fragment") != null) {
            builder.set(DtlsConfig.DTLS_MAX_FRAGMENT_LENGTH,
                    MaxFragmentLengthExtension.Length.fromCode(number("fragment", 0)));
        }
    }

    private void setIdentities() throws IOException, GeneralSecurityException {
        builder.set(DtlsConfig.DTLS_ROLE, server ? DtlsRole.SERVER_ONLY : DtlsRole.CLIENT_ONLY);
        builder.set(DtlsConfig.DTLS_USE_SERVER_NAME_INDICATION, server || number("sends-name", 1) == 1);
        if (word("identity") != null) {
            byte[] key = HexFormat.of().parseHex(word("psk"));
            builder.setAdvancedPskStore(new AdvancedSinglePskStore(word("identity"), key));
        }
        String asks = word("asks") == null ? "no" : word("asks");
        if (server) {
            builder.set(DtlsConfig.DTLS_CLIENT_AUTHENTICATION_MODE, switch (asks) {
                case "required" -> CertificateAuthenticationMode.NEEDED;
                case "optional" -> CertificateAuthenticationMode.WANTED;
                default -> CertificateAuthenticationMode.NONE;
            });
        }
        StaticNewAdvancedCertificateVerifier.Builder verifier = StaticNewAdvancedCertificateVerifier.builder();
        if (word("ca") != null) {
            verifier.setTrustedCertificates(certificates(word("ca")));
        }
        if (word("peer-raw-key") != null) {
            verifier.setTrustedRPKs(new RawPublicKeyIdentity(publicKey(word("peer-raw-key"))));
        }
        if (verifier.hasTrusts() && (!server || !asks.equals("no"))) {
            builder.setAdvancedCertificateVerifier(verifier.build());
        }
        setGroups(null);
        if (word("chain") != null) {
            Certificate[] chain = certificates(word("chain"));
            PrivateKey key = privateKey(chain[0].getPublicKey().getAlgorithm());
            setGroups(SupportedGroup.fromPublicKey(chain[0].getPublicKey()));
            builder.setCertificateIdentityProvider(new SingleCertificateProvider(key, chain, CertificateType.X_509));
        } else if (word("raw-key") != null) {
            PublicKey own = publicKey(word("raw-key"));
            builder.setCertificateIdentityProvider(new SingleCertificateProvider(privateKey(own.getAlgorithm()), own));
        }
    }

    /** Sets the groups of the command line and that of our own certificate, without which Scandium does not start. */
    private void setGroups(SupportedGroup own) {
        if (word("groups") != null) {
            List<SupportedGroup> groups = new ArrayList<>(list("groups", SupportedGroup::fromId));
            if (own != null && !groups.contains(own)) {
                groups.add(own);
            }
            builder.set(DtlsConfig.DTLS_CURVES, groups);
        }
    }

    private void setSessions() {
        if (number("extended-master-secret", 1) == 0) {
            builder.set(DtlsConfig.DTLS_EXTENDED_MASTER_SECRET_MODE, ExtendedMasterSecretMode.NONE);
        }
        builder.set(DtlsConfig.DTLS_SUPPORT_KEY_MATERIAL_EXPORT, word("exporter") != null);
        if (server) {
            final long lifetime = 3600;
            builder.setSessionStore(new InMemorySessionStore(16, lifetime));
        }
    }

    private static Certificate[] certificates(String path) throws IOException, GeneralSecurityException {
        try (InputStream pem = Files.newInputStream(Path.of(path))) {
            return CertificateFactory.getInstance("X.509").generateCertificates(pem).toArray(Certificate[]::new);
        }
    }

    private static PrivateKey privateKey(String algorithm) throws IOException, GeneralSecurityException {
        String pem = Files.readString(Path.of(word("key")), StandardCharsets.US_ASCII);
        byte[] der = Base64.getMimeDecoder().decode(pem.replaceAll("-----.*-----", ""));
        return KeyFactory.getInstance(algorithm).generatePrivate(new PKCS8EncodedKeySpec(der));
    }

    /** The algorithm is not known before the key is. */
    private static PublicKey publicKey(String path) throws IOException, GeneralSecurityException {
        X509EncodedKeySpec der = new X509EncodedKeySpec(Files.readAllBytes(Path.of(path)));
        try {
            return KeyFactory.getInstance("EC").generatePublic(der);
        } catch (GeneralSecurityException other) {
            return KeyFactory.getInstance("EdDSA").generatePublic(der);
        }
    }
}
