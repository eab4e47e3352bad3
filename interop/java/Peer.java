import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import org.bouncycastle.tls.AlertDescription;
import org.bouncycastle.tls.BasicTlsPSKIdentity;
import org.bouncycastle.tls.PSKTlsClient;
import org.bouncycastle.tls.PSKTlsServer;
import org.bouncycastle.tls.ProtocolVersion;
import org.bouncycastle.tls.TlsClientProtocol;
import org.bouncycastle.tls.TlsPSKIdentityManager;
import org.bouncycastle.tls.TlsProtocol;
import org.bouncycastle.tls.TlsServerProtocol;
import org.bouncycastle.tls.crypto.TlsCrypto;
import org.bouncycastle.tls.crypto.impl.bc.BcTlsCrypto;

/**
 * A small client and server on Bouncy Castle: TLS 1.2 with pre-shared keys, whose suites with ECDHE and AES-CCM no other
 * peer has. It takes the words that the programs in C take (`../c/peer.h`), as far as they are about that, and says the
 * same things.
 */
public final class Peer {
    private static final Map<String, String> words = new HashMap<>();
    private static final TlsCrypto crypto = new BcTlsCrypto(new SecureRandom());

    public static void main(String[] arguments) throws IOException {
        if (arguments[0].equals("version")) {
            System.out.println("Bouncy Castle " + TlsProtocol.class.getPackage().getImplementationVersion());
            return;
        }
        for (String word : Arrays.copyOfRange(arguments, 1, arguments.length)) {
            int equals = word.indexOf('=');
            words.put(word.substring(0, equals), word.substring(equals + 1));
        }
        if (!words.get("versions").equals("1.2")) {
            say("only TLS 1.2 here");
            System.exit(2);
        }
        boolean well = arguments[0].equals("server") ? serve() : connect();
        System.exit(well ? 0 : 1);
    }

    private static boolean serve() throws IOException {
        try (ServerSocket listener = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            say("listening " + listener.getLocalPort());
            Socket socket = listener.accept();
            TlsServerProtocol protocol = new TlsServerProtocol(socket.getInputStream(), socket.getOutputStream());
            return converse(protocol, () -> protocol.accept(new Server()));
        }
    }

    private static boolean connect() throws IOException {
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), Integer.parseInt(words.get("port")));
        TlsClientProtocol protocol = new TlsClientProtocol(socket.getInputStream(), socket.getOutputStream());
        return converse(protocol, () -> protocol.connect(new Client()));
    }

    private interface Handshake {
        void complete() throws IOException;
    }

    /** Runs one connection. Returns whether it went well. */
    private static boolean converse(TlsProtocol protocol, Handshake handshake) {
        try {
            handshake.complete();
            say("connected");
            Thread orders = new Thread(() -> obey(protocol));
            orders.setDaemon(true);
            orders.start();
            InputStream data = protocol.getInputStream();
            byte[] buffer = new byte[0x4000];
            for (int length; (length = data.read(buffer)) >= 0; ) {
                System.out.write(buffer, 0, length);
                System.out.flush();
            }
            protocol.close();
            say("closed by the peer\nover");
            return true;
        } catch (IOException error) {
            say("failed: " + error);
            return false;
        }
    }

    /** Sends the lines of standard input, up to the order to close. */
    private static void obey(TlsProtocol protocol) {
        try {
            OutputStream data = protocol.getOutputStream();
            ByteArrayOutputStream line = new ByteArrayOutputStream();
            for (int next; (next = System.in.read()) >= 0; ) {
                line.write(next);
                if (next == '\n') {
                    if (line.toString(StandardCharsets.UTF_8).equals("!close\n")) {
                        protocol.close();
                        return;
                    }
                    data.write(line.toByteArray());
                    line.reset();
                }
            }
        } catch (IOException error) {
            say("failed: " + error);
        }
    }

    /** Writes a line to standard error. */
    private static void say(String line) {
        System.err.println(line);
    }

    private static int[] suites() {
        return Arrays.stream(words.get("suites").split(",")).mapToInt(code -> Integer.parseInt(code, 16)).toArray();
    }

    private static byte[] key() {
        return HexFormat.of().parseHex(words.get("psk"));
    }

    private static void alertReceived(short alert) {
        if (alert != AlertDescription.close_notify) {
            say("alert received " + alert);
        }
    }

    private static final class Client extends PSKTlsClient {
        Client() {
            super(crypto, new BasicTlsPSKIdentity(words.get("identity"), key()));
        }

        @Override
        protected ProtocolVersion[] getSupportedVersions() {
            return ProtocolVersion.TLSv12.only();
        }

        @Override
        protected int[] getSupportedCipherSuites() {
            return suites();
        }

        @Override
        public void notifyAlertReceived(short level, short alert) {
            alertReceived(alert);
        }
    }

    private static final class Server extends PSKTlsServer {
        Server() {
            super(crypto, new Keys());
        }

        @Override
        protected ProtocolVersion[] getSupportedVersions() {
            return ProtocolVersion.TLSv12.only();
        }

        @Override
        protected int[] getSupportedCipherSuites() {
            return suites();
        }

        @Override
        public void notifyAlertReceived(short level, short alert) {
            alertReceived(alert);
        }
    }

    private static final class Keys implements TlsPSKIdentityManager {
        @Override
        public byte[] getHint() {
            return null;
        }

        @Override
        public byte[] getPSK(byte[] identity) {
            return new String(identity, StandardCharsets.UTF_8).equals(words.get("identity")) ? key() : null;
        }
    }
}
