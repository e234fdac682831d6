package dev.metaroce.tools.perf;

import org.jspecify.annotations.Nullable;

/** What the server tells its user. */
interface ServerOutput {
    /** A client began its run. */
    void onClient(String address, PerfParameters parameters);

    /**
     * A row of the run ended.
     *
     * @param packets DATA packets accepted during the row
     * @param intact whether memory holds the test data, null when that was not looked at
     */
    void onRow(long messageBytes, long packets, @Nullable Boolean intact, int contextsPeak);

    /** A client failed, and the server goes on. */
    void onFailure(String reason);

    /** The run of a client is over, well or not. */
    void onRunEnd();
}
