package bench;

import com.amazonaws.services.dynamodbv2.AcquireLockOptions;
import com.amazonaws.services.dynamodbv2.AmazonDynamoDBLockClient;
import com.amazonaws.services.dynamodbv2.AmazonDynamoDBLockClientOptions;
import com.fasterxml.jackson.databind.JsonNode;
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.net.URI;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import net.javacrumbs.shedlock.core.ClockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.provider.jdbc.JdbcLockProvider;
import org.redisson.Redisson;
import org.redisson.config.Config;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;

/** The peers, with their defaults except for the lease. */
final class Peers {
    /** The lease that every system gets. */
    private static final Duration LEASE = Duration.ofSeconds(15);

    /** Connections of a system on Postgres. */
    private static final int POOL = 32;

    private Peers() {}

    static Lock.System connect(String system, JsonNode places) throws Exception {
        return switch (system) {
            case "Redisson (Java)" -> redisson(places.get("redis").asInt());
            case "ShedLock (Java)" -> shedLock(places.get("postgres").asInt());
            case "AWS lock client (Java)" -> lockClient(places.get("dynamodb").asInt());
            default -> throw new IllegalArgumentException("there is no system " + system);
        };
    }

    private static Lock.System redisson(int port) {
        var config = new Config();
        config.useSingleServer().setAddress("redis://127.0.0.1:" + port);
        var client = Redisson.create(config);
        return name -> () -> {
            var lock = client.getLock(name);
            lock.lockInterruptibly(LEASE.toMillis(), TimeUnit.MILLISECONDS);
            return lock::unlock;
        };
    }

    private static Lock.System shedLock(int port) throws Exception {
        var config = new HikariConfig();
        config.setJdbcUrl("jdbc:postgresql://127.0.0.1:" + port + "/postgres?sslmode=disable");
        config.setUsername("postgres");
        config.setMaximumPoolSize(POOL);
        var pool = new HikariDataSource(config);
        try (var connection = pool.getConnection(); var statement = connection.createStatement()) {
            statement.execute("CREATE TABLE IF NOT EXISTS shedlock (name varchar(64) PRIMARY KEY, "
                    + "lock_until timestamp NOT NULL, locked_at timestamp NOT NULL, locked_by varchar(255) NOT NULL)");
        }
        var provider = new JdbcLockProvider(pool);
        return name -> () -> {
            // Its own clock counts milliseconds: a finer one would end the lock later than its next try begins.
            var asked = new LockConfiguration(ClockProvider.now(), name, LEASE, Duration.ZERO);
            var held = provider.lock(asked).orElseThrow(() -> new IllegalStateException("the lock is not free"));
            return held::unlock;
        };
    }

    private static Lock.System lockClient(int port) {
        var credentials = AwsBasicCredentials.create("bench", "bench");
        var store = DynamoDbClient.builder()
                .region(Region.EU_CENTRAL_1)
                .endpointOverride(URI.create("http://127.0.0.1:" + port))
                .credentialsProvider(StaticCredentialsProvider.create(credentials))
                .build();
        var client = new AmazonDynamoDBLockClient(AmazonDynamoDBLockClientOptions.builder(store, "aws-lock-client")
                .withTimeUnit(TimeUnit.SECONDS)
                .withLeaseDuration(LEASE.toSeconds())
                .withHeartbeatPeriod(LEASE.toSeconds() / 3)
                .withCreateHeartbeatBackgroundThread(true)
                .build());
        return name -> () -> {
            // Without, a waiter that loses every race for a free lock gives up after a second.
            var options = AcquireLockOptions.builder(name)
                    .withTimeUnit(TimeUnit.SECONDS)
                    .withAdditionalTimeToWaitForLock(LEASE.toSeconds())
                    .build();
            var held = client.acquireLock(options);
            return () -> {
                if (!client.releaseLock(held)) {
                    throw new IllegalStateException("the lock was lost");
                }
            };
        };
    }
}
