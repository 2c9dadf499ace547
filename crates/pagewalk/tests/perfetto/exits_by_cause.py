"""Time in exits by cause, asked of a Perfetto trace in SQL: prints a line of JSON for each process and cause.

The messages are read with the definitions that Perfetto publishes in its package. TRACE_PROCESSOR names the program of Perfetto's trace processor, which
is then asked. Without it, SQLite is asked over the same columns: the package would download the program.
"""

import json
import os
import sqlite3
import sys

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

QUERY = """
SELECT process.name AS process, slice.name AS cause, COUNT(*) AS exits, SUM({cycles}) AS cycles
FROM slice JOIN process_track ON slice.track_id = process_track.id JOIN process USING (upid)
WHERE slice.category = 'exit' AND {measured}
GROUP BY process.name, slice.name ORDER BY process.name, slice.name
"""


def of_trace_processor(path, program):
    from perfetto.trace_processor import TraceProcessor, TraceProcessorConfig

    extract = "EXTRACT_ARG(slice.arg_set_id, 'debug.%s')"
    query = QUERY.format(cycles=extract % "cycles", measured=extract % "measured")
    with TraceProcessor(trace=path, config=TraceProcessorConfig(bin_path=program)) as processor:
        return [(row.process, row.cause, row.exits, row.cycles) for row in processor.query(query)]


def of_sqlite(path):
    trace = pb.Trace()
    with open(path, "rb") as file:
        trace.ParseFromString(file.read())
    database = sqlite3.connect(":memory:")
    database.executescript("""
        CREATE TABLE process (upid INTEGER, name TEXT);
        CREATE TABLE process_track (id INTEGER, upid INTEGER, name TEXT);
        CREATE TABLE slice (track_id INTEGER, ts INTEGER, dur INTEGER, name TEXT, category TEXT, cycles INTEGER, measured INTEGER);
    """)
    interned, open_slices = {}, {}
    for packet in trace.packet:
        data = packet.interned_data
        for kind in ("event_categories", "event_names", "debug_annotation_names"):
            interned.setdefault(kind, {}).update((entry.iid, entry.name) for entry in getattr(data, kind))
        track = packet.track_descriptor
        if track.HasField("process"):
            database.execute("INSERT INTO process VALUES (?, ?)", (track.uuid, track.process.process_name))
        elif packet.HasField("track_descriptor"):
            database.execute("INSERT INTO process_track VALUES (?, ?, ?)", (track.uuid, track.parent_uuid, track.name))
        if not packet.HasField("track_event"):
            continue
        event = packet.track_event
        if event.type == pb.TrackEvent.TYPE_SLICE_BEGIN:
            figures = {
                interned["debug_annotation_names"][note.name_iid]: getattr(note, note.WhichOneof("value"))
                for note in event.debug_annotations
            }
            name = interned["event_names"][event.name_iid]
            category = interned["event_categories"][event.category_iids[0]]
            row = [event.track_uuid, packet.timestamp, None, name, category, figures["cycles"], figures["measured"]]
            open_slices.setdefault(event.track_uuid, []).append(row)
        elif event.type == pb.TrackEvent.TYPE_SLICE_END:
            row = open_slices[event.track_uuid].pop()
            row[2] = packet.timestamp - row[1]
            database.execute("INSERT INTO slice VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    assert not any(open_slices.values()), "every slice ends"
    return database.execute(QUERY.format(cycles="slice.cycles", measured="slice.measured")).fetchall()


def main(path):
    program = os.environ.get("TRACE_PROCESSOR")
    rows, asked = (of_trace_processor(path, program), "trace_processor") if program else (of_sqlite(path), "sqlite")
    for process, cause, exits, cycles in rows:
        print(json.dumps({"asked": asked, "process": process, "cause": cause, "exits": exits, "cycles": int(cycles)}))


main(sys.argv[1])
