import COSE.AlgorithmID;
import COSE.Attribute;
import COSE.HeaderKeys;
import COSE.Message;
import COSE.MessageTag;
import COSE.OneKey;
import COSE.Sign1Message;
import com.upokecenter.cbor.CBORObject;
import java.io.ByteArrayInputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.SecureRandom;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import org.eclipse.californium.core.CoapClient;
import org.eclipse.californium.core.CoapResponse;
import org.eclipse.californium.core.coap.CoAP;
import org.eclipse.californium.core.coap.CoAP.ResponseCode;
import org.eclipse.californium.core.coap.Request;
import org.eclipse.californium.core.config.CoapConfig;
import org.eclipse.californium.core.network.CoapEndpoint;
import org.eclipse.californium.elements.DtlsEndpointContext;
import org.eclipse.californium.elements.EndpointContext;
import org.eclipse.californium.elements.auth.X509CertPath;
import org.eclipse.californium.elements.config.Configuration;
import org.eclipse.californium.scandium.DTLSConnector;
import org.eclipse.californium.scandium.config.DtlsConfig;
import org.eclipse.californium.scandium.config.DtlsConfig.DtlsRole;
import org.eclipse.californium.scandium.config.DtlsConnectorConfig;
import org.eclipse.californium.scandium.dtls.CertificateType;
import org.eclipse.californium.scandium.dtls.cipher.CipherSuite;
import org.eclipse.californium.scandium.dtls.x509.SingleCertificateProvider;
import org.eclipse.californium.scandium.dtls.x509.StaticNewAdvancedCertificateVerifier;

/**
 * A pledge of constrained BRSKI: Californium's CoAP over Scandium's DTLS 1.2 with connection IDs, in blocks of 64 bytes, and
 * cose-java's signatures.
 *
 * <p>Arguments: PORT SERIAL DEVICE SIGNER. The device is DEVICE.pem with DEVICE.key; the first certificate of SIGNER is that of
 * the manufacturer's voucher signer. It sends the certification requests ldevid.der and next.der, which it has the keys of
 * beside them, and writes cacerts.pem, ldevid.pem, and next.pem. It says which suite and connection ID each connection has.
 */
final class CoapsPledge {
    public static void main(String[] arguments) throws Exception {
        int port = Integer.parseInt(arguments[0]);
        CoapConfig.register();
        DtlsConfig.register();
        List<X509Certificate> authorities;
        try (Registrar registrar = new Registrar(port, Path.of(arguments[2]), new Certificate[0])) {
            registrar.get("/.well-known/core?rt=brski*", 40); // so that there is a connection, and a certificate
            Voucher voucher = new Voucher(arguments[1], registrar.chain());
            registrar.expect(ResponseCode.UNSUPPORTED_CONTENT_FORMAT, RV, CBOR, new byte[] {0});
            voucher.check(
                    registrar.post(RV, VOUCHER_COSE, VOUCHER_COSE, voucher.request(registrar.identity)),
                    certificates(Path.of(arguments[3])).get(0));
            registrar.post("/.well-known/brski/vs", CBOR, NONE, status());
            authorities = multipart(registrar.get("/.well-known/est/crts", MULTIPART_CORE));
            write("cacerts.pem", authorities.toArray(new Certificate[0]));
            byte[] request = Files.readAllBytes(Path.of("ldevid.der"));
            write("ldevid.pem", certificate(registrar.post("/.well-known/est/sen", PKCS10, PKIX_CERT, request)));
        }
        // Now it knows whom to trust.
        Certificate[] trusted = authorities.toArray(new Certificate[0]);
        try (Registrar registrar = new Registrar(port, Path.of("ldevid"), trusted)) {
            registrar.post("/.well-known/brski/es", CBOR, NONE, status());
            byte[] request = Files.readAllBytes(Path.of("next.der"));
            write("next.pem", certificate(registrar.post("/.well-known/est/sren", PKCS10, PKIX_CERT, request)));
        }
    }

    /** A connection to the registrar. */
    private static final class Registrar implements AutoCloseable {
        final Identity identity;
        private final int port;
        private final CoapEndpoint endpoint;
        private final CoapClient client = new CoapClient();
        private EndpointContext peer;

        /** Without anybody who is trusted, any registrar will do. */
        Registrar(int port, Path name, Certificate[] trusted) throws Exception {
            this.port = port;
            this.identity = new Identity(name);
            Configuration configuration = Configuration.createStandardWithoutFile();
            configuration.set(CoapConfig.PREFERRED_BLOCK_SIZE, BLOCK).set(CoapConfig.MAX_MESSAGE_SIZE, BLOCK);
            configuration.set(DtlsConfig.DTLS_ROLE, DtlsRole.CLIENT_ONLY);
            configuration.set(DtlsConfig.DTLS_CONNECTION_ID_LENGTH, 0); // it has one for the registrar alone
            configuration.set(DtlsConfig.DTLS_USE_SERVER_NAME_INDICATION, false);
            configuration.set(DtlsConfig.DTLS_VERIFY_SERVER_CERTIFICATES_SUBJECT, false); // it knows no name
            configuration.setAsList(DtlsConfig.DTLS_CIPHER_SUITES, CipherSuite.TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8);
            var verifier = StaticNewAdvancedCertificateVerifier.builder();
            if (trusted.length == 0) {
                verifier.setTrustAllCertificates();
            } else {
                verifier.setTrustedCertificates(trusted);
            }
            var builder = DtlsConnectorConfig.builder(configuration);
            builder.setAdvancedCertificateVerifier(verifier.build());
            builder.setCertificateIdentityProvider(
                    new SingleCertificateProvider(identity.key, identity.chain, CertificateType.X_509));
            var connector = new DTLSConnector(builder.build());
            endpoint = CoapEndpoint.builder().setConfiguration(configuration).setConnector(connector).build();
            client.setEndpoint(endpoint);
        }

        byte[] get(String path, int accept) throws Exception {
            return send(CoAP.Code.GET, path, NONE, accept, new byte[0]);
        }

        byte[] post(String path, int contentFormat, int accept, byte[] payload) throws Exception {
            return send(CoAP.Code.POST, path, contentFormat, accept, payload);
        }

        /** Sends a request that is refused, with a text. */
        void expect(ResponseCode code, String path, int contentFormat, byte[] payload) throws Exception {
            CoapResponse response = sendOnce(CoAP.Code.POST, path, contentFormat, NONE, payload);
            check(response.getCode() == code && response.getPayloadSize() > 0, path + ": " + response.getCode());
        }

        /** Sends a request until it is decided. */
        private byte[] send(CoAP.Code method, String path, int contentFormat, int accept, byte[] payload) throws Exception {
            CoapResponse response = sendOnce(method, path, contentFormat, accept, payload);
            while (response.getCode() == ResponseCode.SERVICE_UNAVAILABLE) {
                response = sendOnce(method, path, contentFormat, accept, payload);
            }
            check(response.isSuccess(), path + ": " + response.getCode() + " " + response.getResponseText());
            check(response.getOptions().getContentFormat() == accept, path + ": the content format of the answer");
            return response.getPayload();
        }

        private CoapResponse sendOnce(CoAP.Code method, String path, int contentFormat, int accept, byte[] payload)
                throws Exception {
            Request request = new Request(method);
            request.setURI("coaps://127.0.0.1:" + port + path);
            if (contentFormat != NONE) {
                request.getOptions().setContentFormat(contentFormat);
                request.setPayload(payload);
            }
            if (accept != NONE) {
                request.getOptions().setAccept(accept);
            }
            CoapResponse response = client.advanced(request);
            check(response != null, path + ": no answer");
            if (peer == null) {
                peer = response.advanced().getSourceContext();
                System.out.println("suite " + peer.get(DtlsEndpointContext.KEY_CIPHER));
                System.out.println("connection ID " + peer.get(DtlsEndpointContext.KEY_WRITE_CONNECTION_ID));
            }
            return response;
        }

        /** What the registrar has shown. */
        List<X509Certificate> chain() {
            List<? extends Certificate> path = ((X509CertPath) peer.getPeerIdentity()).getPath().getCertificates();
            return path.stream().map(X509Certificate.class::cast).toList();
        }

        @Override
        public void close() {
            client.shutdown();
            endpoint.destroy();
        }
    }

    /** A voucher of this serial number, and the request for it, with the SIDs of constrained BRSKI. */
    private static final class Voucher {
        private final String serial;
        private final List<X509Certificate> registrar;
        private final byte[] nonce = new byte[16];

        Voucher(String serial, List<X509Certificate> registrar) {
            this.serial = serial;
            this.registrar = registrar;
            new SecureRandom().nextBytes(nonce);
        }

        byte[] request(Identity device) throws Exception {
            CBORObject fields = CBORObject.NewMap();
            fields.Add(1, PROXIMITY);
            fields.Add(2, Instant.now().truncatedTo(ChronoUnit.SECONDS).toString());
            fields.Add(7, nonce);
            fields.Add(10, registrar.get(0).getEncoded());
            fields.Add(13, serial);
            Sign1Message message = new Sign1Message();
            message.addAttribute(HeaderKeys.Algorithm, AlgorithmID.ECDSA_256.AsCBOR(), Attribute.PROTECTED);
            message.SetContent(CBORObject.NewMap().Add(2501, fields).EncodeToBytes());
            message.sign(new OneKey(device.chain[0].getPublicKey(), device.key));
            return message.EncodeToBytes();
        }

        /** Checks the signature, and that the voucher answers this request and pins this registrar's domain. */
        void check(byte[] voucher, X509Certificate signer) throws Exception {
            Sign1Message message = (Sign1Message) Message.DecodeFromBytes(voucher, MessageTag.Sign1);
            CoapsPledge.check(message.validate(new OneKey(signer.getPublicKey(), null)), "the voucher's signature");
            CBORObject fields = CBORObject.DecodeFromBytes(message.GetContent()).get(CBORObject.FromObject(2451));
            CoapsPledge.check(field(fields, 1).AsInt32() == PROXIMITY, "the assertion");
            CoapsPledge.check(Arrays.equals(field(fields, 7).GetByteString(), nonce), "the nonce");
            CoapsPledge.check(field(fields, 11).AsString().equals(serial), "the serial number");
            X509Certificate pin = certificate(field(fields, 8).GetByteString());
            for (int place = 0; place < registrar.size() && !registrar.get(place).equals(pin); place++) {
                X509Certificate issuer = place + 1 < registrar.size() ? registrar.get(place + 1) : pin;
                registrar.get(place).verify(issuer.getPublicKey());
            }
        }

        private static CBORObject field(CBORObject fields, int number) {
            return fields.get(CBORObject.FromObject(number));
        }
    }

    /** Certificates and a key. */
    private static final class Identity {
        final X509Certificate[] chain;
        final PrivateKey key;

        Identity(Path name) throws Exception {
            chain = certificates(Path.of(name + ".pem")).toArray(new X509Certificate[0]);
            String pem = Files.readString(Path.of(name + ".key")).replaceAll("-----[A-Z ]+-----", "");
            var der = new PKCS8EncodedKeySpec(Base64.getMimeDecoder().decode(pem));
            key = KeyFactory.getInstance("EC").generatePrivate(der);
        }
    }

    private static byte[] status() {
        return CBORObject.NewMap().Add("version", 1).Add("status", true).EncodeToBytes();
    }

    /** The certificates of an application/multipart-core (RFC 8710). */
    private static List<X509Certificate> multipart(byte[] encoded) throws Exception {
        CBORObject parts = CBORObject.DecodeFromBytes(encoded);
        var certificates = new java.util.ArrayList<X509Certificate>();
        for (int place = 0; place < parts.size(); place += 2) {
            check(parts.get(place).AsInt32() == PKIX_CERT, "the format of a part");
            certificates.add(certificate(parts.get(place + 1).GetByteString()));
        }
        return certificates;
    }

    private static X509Certificate certificate(byte[] der) throws Exception {
        var factory = CertificateFactory.getInstance("X.509");
        return (X509Certificate) factory.generateCertificate(new ByteArrayInputStream(der));
    }

    private static List<X509Certificate> certificates(Path file) throws Exception {
        var factory = CertificateFactory.getInstance("X.509");
        var all = factory.generateCertificates(new ByteArrayInputStream(Files.readAllBytes(file)));
        return all.stream().map(X509Certificate.class::cast).toList();
    }

    private static void write(String file, Certificate... certificates) throws Exception {
        StringBuilder text = new StringBuilder();
        for (Certificate certificate : certificates) {
            String lines = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(certificate.getEncoded());
            text.append("-----BEGIN CERTIFICATE-----\n").append(lines).append("\n-----END CERTIFICATE-----\n");
        }
        Files.writeString(Path.of(file), text);
    }

    private static void check(boolean holds, String what) {
        if (!holds) {
            throw new IllegalStateException(what);
        }
    }

    private static final String RV = "/.well-known/brski/rv";
    private static final int BLOCK = 64;
    private static final int PROXIMITY = 2;

    /** Content formats; without one, a response says so too. */
    private static final int NONE = -1;
    private static final int CBOR = 60;
    private static final int MULTIPART_CORE = 62;
    private static final int PKCS10 = 286;
    private static final int PKIX_CERT = 287;
    private static final int VOUCHER_COSE = 836;
}
