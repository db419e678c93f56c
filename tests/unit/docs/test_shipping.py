"""The files under deploy/: each is what it should be for the program that reads it, and names what there is."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from tests.unit.docs.markdown import ROOT
from windrow.cli.commands import COMMANDS
from windrow.server.alert_settings import read_alert_settings

DEPLOY = ROOT / "deploy"
DOCKERFILE = DEPLOY / "docker" / "Dockerfile"


def options_of_serve() -> set[str]:
    source = (ROOT / "src/windrow/cli/serve.py").read_text(encoding="utf-8")
    return set(re.findall(r'"(--[a-z-]+)"', source))


def instructions() -> list[tuple[str, str]]:
    text = re.sub(r"\\\n", " ", "\n".join(line for line in DOCKERFILE.read_text().splitlines() if not line.startswith("#")))
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in text.splitlines() if line.strip())]


def test_the_dockerfile_follows_the_usual_rules() -> None:
    """What hadolint asks for: pinned bases, exec form, no caches left behind, not root, and copies only of what is there."""
    found = instructions()
    assert {word for word, _ in found} <= {"FROM", "WORKDIR", "COPY", "RUN", "USER", "VOLUME", "EXPOSE", "ENTRYPOINT", "CMD", "HEALTHCHECK"}
    assert all(re.match(r"\S+:[\w.-]+", rest) and ":latest" not in rest for word, rest in found if word == "FROM")
    assert all(rest.startswith("[") for word, rest in found if word in ("ENTRYPOINT", "CMD"))
    assert [rest for word, rest in found if word == "USER"] == ["10001"]
    installs = [rest for word, rest in found if word == "RUN" and "apt-get install" in rest]
    assert all("--no-install-recommends" in rest and "rm -rf /var/lib/apt/lists" in rest for rest in installs)
    assert all("--no-cache-dir" in rest for word, rest in found if word == "RUN" and "pip " in rest)
    for word, rest in found:
        if word == "COPY" and not rest.startswith("--from"):
            assert all(list(ROOT.glob(source)) for source in rest.split()[:-1]), rest


def served_by(words: list[str]) -> None:
    assert words[0] in COMMANDS
    assert {word for word in words if word.startswith("--")} <= options_of_serve()


def test_every_file_starts_the_server_with_options_that_there_are() -> None:
    served_by(["serve", "--data", "x"])
    compose: Any = yaml.safe_load((DEPLOY / "docker/compose.yaml").read_text())
    served_by(compose["services"]["windrow"]["command"])
    assert set(compose["volumes"]) == {one.partition(":")[0] for service in compose["services"].values() for one in service["volumes"]}
    for service in compose["services"].values():
        assert set(service.get("depends_on", ())) <= set(compose["services"])
    unit = (DEPLOY / "systemd/windrow.service").read_text()
    served_by(unit.partition("ExecStart=/usr/bin/env windrow ")[2].splitlines()[0].split())
    (stateful,) = [one for one in manifests() if one["kind"] == "StatefulSet"]
    served_by(stateful["spec"]["template"]["spec"]["containers"][0]["args"])


def manifests() -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((DEPLOY / "kubernetes/windrow.yaml").read_text()))


def test_manifests_are_whole() -> None:
    found = {one["kind"]: one for one in manifests()}
    assert set(found) == {"Namespace", "ConfigMap", "Service", "StatefulSet"}
    pod = found["StatefulSet"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    volumes = {one["name"] for one in pod["volumes"]} | {
        one["metadata"]["name"] for one in found["StatefulSet"]["spec"]["volumeClaimTemplates"]
    }
    assert {one["name"] for one in container["volumeMounts"]} == volumes
    labels = found["StatefulSet"]["spec"]["selector"]["matchLabels"]
    assert labels.items() <= found["StatefulSet"]["spec"]["template"]["metadata"]["labels"].items()
    service = found["Service"]
    assert found["StatefulSet"]["spec"]["serviceName"] == service["metadata"]["name"]
    assert service["spec"]["selector"] == labels
    assert {one["targetPort"] for one in service["spec"]["ports"]} == {one["name"] for one in container["ports"]}
    assert (pod["securityContext"]["runAsNonRoot"], container["securityContext"]["allowPrivilegeEscalation"]) == (True, False)
    # The same user in the image and in the pod, or the volume is not its own.
    assert ("USER", str(pod["securityContext"]["runAsUser"])) in instructions()


def test_the_alerts_of_the_manifest_are_read_by_the_server(tmp_path: Path) -> None:
    (settings,) = [one["data"]["alerts.yaml"] for one in manifests() if one["kind"] == "ConfigMap"]
    (tmp_path / "alerts.yaml").write_text(settings)
    assert list(read_alert_settings(tmp_path / "alerts.yaml", {}).channels) == ["log"]


def test_the_schemas_of_kubernetes_accept_the_manifests() -> None:
    for one in manifests():
        kubernetes_validate.validate(one, "1.34", strict=True)


def test_the_schemas_of_kubernetes_refuse_what_is_misspelt() -> None:
    (stateful,) = [one for one in manifests() if one["kind"] == "StatefulSet"]
    stateful["spec"]["template"]["spec"]["containers"][0]["imagePullPolice"] = "Always"
    with pytest.raises(kubernetes_validate.ValidationError, match="imagePullPolice"):
        kubernetes_validate.validate(stateful, "1.34", strict=True)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_understands_the_unit() -> None:
    unit = DEPLOY / "systemd" / "windrow.service"
    done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False)
    assert "windrow.service" not in done.stderr, done.stderr
