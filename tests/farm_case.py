#!/usr/bin/env python3
"""What supple farm-job writes for other queue managers, held against what these publish.

    farm_case.py openjd FILE STAGE...     Open Job Description, 2023-09-Template-Schemas: sections by number below
    farm_case.py opencue FILE STAGE...    OpenCue's CJSL 1.15: the order and number of elements as its DTD has them
    farm_case.py commands FILE            the commands of an OpenJD template, one a line, in an order that its dependencies allow
"""
import json
import re
import sys
import xml.etree.ElementTree as xml


def no_control(text, most):
    assert 1 <= len(text) <= most and not re.search(r"[\x00-\x1f\x7f]", text), text
    return text


def keys(value, required, optional=""):
    assert set(required.split()) <= set(value) <= set(required.split() + optional.split()), sorted(value)


def openjd(job):
    """Sections 1.1 (job template), 2 (parameters), 3 (steps), 3.3 (host requirements), 3.4 (parameter space), 5 (actions)."""
    keys(job, "specificationVersion name steps", "description parameterDefinitions jobEnvironments $schema")
    assert job["specificationVersion"] == "jobtemplate-2023-09"
    no_control(job["name"], 128)
    assert 1 <= len(job["parameterDefinitions"]) <= 50
    known = set()
    for parameter in job["parameterDefinitions"]:
        # A PATH's default has to be relative to the template; ours is absolute, for the folder has one name on all hosts.
        keys(parameter, "name type", "description default allowedValues minLength maxLength userInterface")
        assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,63}", parameter["name"]) and parameter["type"] == "STRING"
        assert 1 <= len(parameter["default"]) <= 1024 and len(parameter["description"]) <= 2048
        known.add("Param." + parameter["name"])
    names = [no_control(step["name"], 64) for step in job["steps"]]
    assert len(set(names)) == len(names) >= 1
    before = set()
    for step in job["steps"]:
        keys(step, "name script", "description dependencies stepEnvironments hostRequirements parameterSpace")
        on = [d["dependsOn"] for d in step.get("dependencies", [])]
        assert len(set(on)) == len(on) and set(on) <= before, (step["name"], on)  # no circles: all stand above
        before.add(step["name"])
        for amount in step["hostRequirements"]["amounts"]:
            keys(amount, "name min")
            assert amount["name"] in ("amount.worker.vcpu", "amount.worker.memory") and amount["min"] > 0
        (task,) = step["parameterSpace"]["taskParameterDefinitions"]
        keys(task, "name type range")
        assert task["type"] == "INT" and re.fullmatch(r"0-\d+", task["range"])
        keys(step["script"], "actions")
        keys(step["script"]["actions"], "onRun")
        action = step["script"]["actions"]["onRun"]
        keys(action, "command", "args timeout cancelation")
        for word in [action["command"], *action["args"]]:
            no_control(word, 10000)
            for symbol in re.findall(r"{{\s*([^}]*?)\s*}}", word):
                assert symbol in known | {"Task.Param." + task["name"]}, symbol
        assert isinstance(action["timeout"], int) and action["timeout"] > 0
        keys(action["cancelation"], "mode notifyPeriodInSeconds")
        assert action["cancelation"]["mode"] == "NOTIFY_THEN_TERMINATE" and 0 < action["cancelation"]["notifyPeriodInSeconds"] <= 600
    return [name.split("-", 1)[1] for name in names]


CJSL = {  # children in their order, ? may be absent, * any number, + at least one
    "spec": "facility? dept? show shot user email? uid? job* depends*",
    "job": "paused? priority? maxretries? maxcores? maxgpus? autoeat? localbook? os? env* layers?",
    "layers": "layer+",
    "layer": "cmd range chunk cores? threadable? memory? gpus? gpu? gpu_memory? timeout? timeout_llu? tags? limits? env* services? outputs*",
    "services": "service+",
    "depends": "depend*",
    "depend": "depjob deplayer? depframe? onjob onlayer? onframe?",
}


def opencue(root):
    assert root.tag == "spec"
    for element in root.iter():
        order = CJSL.get(element.tag)
        children = "".join(child.tag + " " for child in element)
        if order is None:
            assert not children, element.tag
            continue
        pattern = "".join(f"({re.escape(word.rstrip('?*+'))} ){word[-1] if word[-1] in '?*+' else ''}" for word in order.split())
        assert re.fullmatch(pattern, children), (element.tag, children)
    (job,) = root.findall("job")
    name = re.compile(r"[\w.:-]+")  # NMTOKEN
    layers = {}
    for layer in job.iter("layer"):
        assert name.fullmatch(layer.get("name")) and layer.get("type") in ("Render", "Util", "Post")
        assert re.fullmatch(r"0-\d+", layer.findtext("range")) and "#IFRAME#" in layer.findtext("cmd")
        layers[layer.get("name")] = int(layer.findtext("range")[2:]) + 1
    assert name.fullmatch(job.get("name"))
    for depend in root.iter("depend"):
        on, of = depend.findtext("onlayer"), depend.findtext("deplayer")
        assert depend.get("type") in ("LAYER_ON_LAYER", "FRAME_BY_FRAME") and on in layers and of in layers
        assert list(layers).index(on) < list(layers).index(of)
        assert depend.get("type") == "LAYER_ON_LAYER" or layers[on] == layers[of]
        assert depend.findtext("depjob") == depend.findtext("onjob") == job.get("name")
    return [name.rsplit("_", 1)[0] for name in layers]


what, path, *stages = sys.argv[1:]
if what == "opencue":
    found = opencue(xml.parse(path).getroot())
else:
    with open(path) as file:
        template = json.load(file)
    found = openjd(template)
if what == "commands":
    job = template["parameterDefinitions"][0]["default"]
    for step in template["steps"]:
        array = step["script"]["actions"]["onRun"]["args"][1]
        last = int(step["parameterSpace"]["taskParameterDefinitions"][0]["range"][2:])
        for index in range(last + 1):
            print(f"sh '{job}' {array} {index}")
else:
    assert found == stages, found
