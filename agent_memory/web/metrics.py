"""GET /metrics: the numbers of the health report in Prometheus' text format (version 0.0.4)."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


def render(report: Mapping[str, Any]) -> str:
    """Every gauge with its help line. Label values come from the server itself and never from what people store."""
    lines: list[str] = []
    for name, text, samples in _gauges(report):
        lines += [f"# HELP agent_memory_{name} {text}", f"# TYPE agent_memory_{name} gauge"]
        for labels, value in samples:
            written = ",".join(f'{key}="{_escaped(label)}"' for key, label in labels.items())
            lines.append(f"agent_memory_{name}{{{written}}} {value}" if written else f"agent_memory_{name} {value}")
    return "\n".join(lines) + "\n"


_Samples = list[tuple[dict[str, str], float]]


def _gauges(report: Mapping[str, Any]) -> Iterator[tuple[str, str, _Samples]]:
    store, encoder = report["store"], report["encoder"]
    yield "info", "The version that runs.", [({"version": report["version"]}, 1)]
    yield "uptime_seconds", "Seconds since the start.", [({}, report["uptime_s"])]
    yield "records", "Records by state.", [({"status": state}, n) for state, n in store["records"].items()]
    yield "database_bytes", "Size of the database and its log.", [({}, store["database_bytes"])]
    yield "encoder_up", "Whether the encoder answers.", [({}, int(encoder["live"]))]
    yield "encoder_waiting", "Records without a current vector.", [({}, encoder.get("waiting", 0))]
    yield "jobs", "Jobs by state.", [({"state": state}, n) for state, n in report["jobs"].items() if isinstance(n, int)]
    servers = report.get("enrichment", {}).get("servers", [])
    yield "model_server_up", "Whether a model server is live.", [({"url": s["url"]}, int(s["live"])) for s in servers]
    yield "model_server_calls", "Calls in flight.", [({"url": s["url"]}, s["in_flight"]) for s in servers]


def _escaped(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
