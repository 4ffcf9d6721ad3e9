import java.nio.ByteBuffer;
import java.sql.DriverManager;
import java.util.HexFormat;
import java.util.Properties;
import org.postgresql.PGConnection;
import org.postgresql.replication.PGReplicationStream;
import org.postgresql.replication.fluent.logical.ChainedLogicalStreamBuilder;

/**
 * The JDBC driver: hands on the messages of a slot as they come (see t/ClientTest.pm). Java reads no
 * JSON; the arguments are socket, user, database, slot, the last row, and pairs of an option and its value.
 */
public class JdbcClient {
    public static void main(String[] args) throws Exception {
        Properties properties = new Properties();
        properties.put("user", args[1]);
        properties.put("assumeMinServerVersion", "9.4");
        properties.put("replication", "database");
        properties.put("preferQueryMode", "simple");
        properties.put("sslmode", "disable");
        properties.put("socketFactory", "UnixSocketFactory");
        properties.put("socketFactoryArg", args[0]);
        try (var connection = DriverManager.getConnection("jdbc:postgresql://localhost/" + args[2], properties)) {
            ChainedLogicalStreamBuilder builder = connection.unwrap(PGConnection.class).getReplicationAPI()
                    .replicationStream().logical().withSlotName(args[3]);
            for (int i = 5; i < args.length; i += 2) {
                builder = builder.withSlotOption(args[i], args[i + 1]);
            }
            read(builder.start(), args[4]);
            System.in.read();
        }
    }

    private static void read(PGReplicationStream stream, String end) throws Exception {
        StringBuilder lines = new StringBuilder();
        boolean last = false;
        for (;;) {
            ByteBuffer message = stream.read();
            byte[] data = new byte[message.remaining()];
            message.get(data);
            lines.append(stream.getLastReceiveLSN().asString()).append(' ')
                    .append(HexFormat.of().formatHex(data)).append('\n');
            stream.setAppliedLSN(stream.getLastReceiveLSN());
            stream.setFlushedLSN(stream.getLastReceiveLSN());
            if (new String(data, "UTF-8").contains(end)) {
                last = true;
            } else if (last && data[0] == 'C') {
                System.out.println(lines + "END");
                return;
            }
        }
    }
}
