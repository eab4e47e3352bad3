import java.io.ByteArrayInputStream;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.Security;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.cert.TrustAnchor;
import java.security.cert.X509Certificate;
import java.security.spec.ECGenParameterSpec;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.Collection;
import java.util.Set;
import org.bouncycastle.asn1.est.AttrOrOID;
import org.bouncycastle.asn1.est.CsrAttrs;
import org.bouncycastle.asn1.pkcs.Attribute;
import org.bouncycastle.asn1.x500.X500Name;
import org.bouncycastle.cert.X509CertificateHolder;
import org.bouncycastle.est.CSRRequestResponse;
import org.bouncycastle.est.ESTService;
import org.bouncycastle.est.EnrollmentResponse;
import org.bouncycastle.est.jcajce.JcaJceUtils;
import org.bouncycastle.est.jcajce.JsseESTServiceBuilder;
import org.bouncycastle.jce.provider.BouncyCastleProvider;
import org.bouncycastle.operator.jcajce.JcaContentSignerBuilder;
import org.bouncycastle.pkcs.PKCS10CertificationRequest;
import org.bouncycastle.pkcs.jcajce.JcaPKCS10CertificationRequestBuilder;

/**
 * A client of EST: Bouncy Castle's, over the TLS of the Java Development Kit.
 *
 * <p>Arguments: HOST PORT ROOT NAME, and below them what is asked for, which is one of
 *
 * <ul>
 *   <li>{@code cacerts FILE}: writes the certificates of the CA;
 *   <li>{@code csrattrs FILE}: writes the CSR attributes, or nothing if there are none;
 *   <li>{@code simpleenroll NEW} and {@code simplereenroll NEW}: asks for the CSR attributes, does what they say in a request
 *       for a new key, and writes NEW.pem and NEW.key.
 * </ul>
 *
 * The client is NAME.pem with NAME.key. It trusts ROOT, a file with one certificate, for the server.
 */
final class EstClient {
    public static void main(String[] arguments) throws Exception {
        Security.addProvider(new BouncyCastleProvider()); // its path validation asks for it by name
        Client client = new Client(Path.of(arguments[3]));
        Certificate root = certificates(Path.of(arguments[2])).iterator().next();
        Set<TrustAnchor> anchors = Set.of(new TrustAnchor((X509Certificate) root, null));
        ESTService service =
                new JsseESTServiceBuilder(
                                arguments[0],
                                Integer.parseInt(arguments[1]),
                                JcaJceUtils.getCertPathTrustManager(anchors, null))
                        .withKeyManagers(client.keyManagers())
                        .build();
        Path file = Path.of(arguments[5]);
        switch (arguments[4]) {
            case "cacerts":
                write(file, ESTService.storeToArray(service.getCACerts().getCertificateStore()));
                break;
            case "csrattrs":
                CSRRequestResponse response = service.getCSRAttributes();
                byte[] none = {};
                boolean is = response.hasAttributesResponse();
                Files.write(file, is ? response.getAttributesResponse().getEncoded() : none);
                break;
            case "simpleenroll":
                client.enroll(service, false, file);
                break;
            case "simplereenroll":
                client.enroll(service, true, file);
                break;
            default:
                throw new IllegalArgumentException(arguments[4]);
        }
    }

    /** Who asks: certificates and a key. */
    private record Client(Certificate[] chain, PrivateKey key) {
        Client(Path name) throws Exception {
            this(
                    certificates(Path.of(name + ".pem")).toArray(new Certificate[0]),
                    KeyFactory.getInstance("EC")
                            .generatePrivate(new PKCS8EncodedKeySpec(unarmored(Path.of(name + ".key")))));
        }

        javax.net.ssl.KeyManager[] keyManagers() throws Exception {
            KeyStore store = KeyStore.getInstance("PKCS12");
            store.load(null, null);
            store.setKeyEntry("client", key, PASSWORD, chain);
            return JcaJceUtils.createKeyManagerFactory("SunX509", null, store, PASSWORD).getKeyManagers();
        }

        void enroll(ESTService service, boolean again, Path file) throws Exception {
            KeyPairGenerator generator = KeyPairGenerator.getInstance("EC");
            generator.initialize(new ECGenParameterSpec("secp256r1"));
            KeyPair pair = generator.generateKeyPair();
            X500Name subject = new X509CertificateHolder(chain[0].getEncoded()).getSubject();
            var builder = new JcaPKCS10CertificationRequestBuilder(subject, pair.getPublic());
            CSRRequestResponse response = service.getCSRAttributes();
            if (response.hasAttributesResponse()) {
                CsrAttrs asked = CsrAttrs.getInstance(response.getAttributesResponse().getEncoded());
                for (AttrOrOID one : asked.getAttrOrOIDs()) {
                    Attribute attribute = one.isOid() ? null : one.getAttribute();
                    if (attribute != null) {
                        builder.addAttribute(attribute.getAttrType(), attribute.getAttributeValues());
                    }
                }
            }
            PKCS10CertificationRequest request =
                    builder.build(new JcaContentSignerBuilder("SHA256withECDSA").build(pair.getPrivate()));
            EnrollmentResponse issued = service.simpleEnroll(again, request, null);
            if (!issued.isCompleted()) {
                throw new IllegalStateException("the certificate is to come later");
            }
            write(Path.of(file + ".pem"), ESTService.storeToArray(issued.getStore()));
            Files.writeString(Path.of(file + ".key"), armored("PRIVATE KEY", pair.getPrivate().getEncoded()));
        }
    }

    @SuppressWarnings("unchecked")
    private static Collection<Certificate> certificates(Path file) throws Exception {
        var factory = CertificateFactory.getInstance("X.509");
        return (Collection<Certificate>) factory.generateCertificates(new ByteArrayInputStream(Files.readAllBytes(file)));
    }

    private static void write(Path file, X509CertificateHolder[] certificates) throws Exception {
        StringWriter text = new StringWriter();
        for (X509CertificateHolder certificate : certificates) {
            text.write(armored("CERTIFICATE", certificate.getEncoded()));
        }
        Files.writeString(file, text.toString());
    }

    private static byte[] unarmored(Path file) throws Exception {
        return Base64.getMimeDecoder().decode(Files.readString(file).replaceAll("-----[A-Z ]+-----", ""));
    }

    private static String armored(String label, byte[] der) {
        String lines = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(der);
        return "-----BEGIN " + label + "-----\n" + lines + "\n-----END " + label + "-----\n";
    }

    /** The password of a key store that is never written. */
    private static final char[] PASSWORD = "store".toCharArray();
}
