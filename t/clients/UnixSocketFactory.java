import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketTimeoutException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import javax.net.SocketFactory;

/** Lets the JDBC driver connect to a unix socket: the tests' servers have no other. */
public class UnixSocketFactory extends SocketFactory {
    private final String path;

    public UnixSocketFactory(String path) {
        this.path = path;
    }

    @Override
    public Socket createSocket() throws IOException {
        return new UnixSocket(path);
    }

    @Override
    public Socket createSocket(String host, int port) throws IOException {
        return createSocket();
    }

    @Override
    public Socket createSocket(String host, int port, java.net.InetAddress local, int localPort) throws IOException {
        return createSocket();
    }

    @Override
    public Socket createSocket(java.net.InetAddress host, int port) throws IOException {
        return createSocket();
    }

    @Override
    public Socket createSocket(java.net.InetAddress host, int port, java.net.InetAddress local, int localPort)
            throws IOException {
        return createSocket();
    }

    /** A socket as far as the driver uses one. Channels that block cannot time out, so this one does not block. */
    private static class UnixSocket extends Socket {
        private final String path;
        private SocketChannel channel;
        private Selector readable;
        private Selector writable;
        private int timeout;

        UnixSocket(String path) {
            this.path = path;
        }

        @Override
        public void connect(SocketAddress ignored, int connectTimeout) throws IOException {
            channel = SocketChannel.open(UnixDomainSocketAddress.of(path));
            channel.configureBlocking(false);
            readable = Selector.open();
            channel.register(readable, SelectionKey.OP_READ);
            writable = Selector.open();
            channel.register(writable, SelectionKey.OP_WRITE);
        }

        @Override
        public boolean isConnected() {
            return channel != null;
        }

        @Override
        public InputStream getInputStream() {
            return new InputStream() {
                @Override
                public int read() throws IOException {
                    byte[] one = new byte[1];
                    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
                }

                @Override
                public int read(byte[] bytes, int offset, int length) throws IOException {
                    if (length == 0) {
                        return 0;
                    }
                    for (;;) {
                        int got = channel.read(ByteBuffer.wrap(bytes, offset, length));
                        if (got != 0) {
                            return got;
                        }
                        readable.selectedKeys().clear();
                        if (readable.select(timeout) == 0 && timeout > 0) {
                            throw new SocketTimeoutException();
                        }
                    }
                }
            };
        }

        @Override
        public OutputStream getOutputStream() {
            return new OutputStream() {
                @Override
                public void write(int one) throws IOException {
                    write(new byte[] {(byte) one}, 0, 1);
                }

                @Override
                public void write(byte[] bytes, int offset, int length) throws IOException {
                    ByteBuffer buffer = ByteBuffer.wrap(bytes, offset, length);
                    while (buffer.hasRemaining()) {
                        if (channel.write(buffer) == 0) {
                            writable.selectedKeys().clear();
                            writable.select();
                        }
                    }
                }
            };
        }

        @Override
        public void setSoTimeout(int milliseconds) {
            timeout = milliseconds;
        }

        @Override
        public int getSoTimeout() {
            return timeout;
        }

        @Override
        public void setTcpNoDelay(boolean on) {
        }

        @Override
        public void setKeepAlive(boolean on) {
        }

        @Override
        public int getSendBufferSize() {
            return 8192;
        }

        @Override
        public int getReceiveBufferSize() {
            return 8192;
        }

        @Override
        public void close() throws IOException {
            if (channel != null) {
                readable.close();
                writable.close();
                channel.close();
            }
            super.close();
        }
    }
}
