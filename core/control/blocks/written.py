"""Blocks as plain data, and back: what an FMU with Python inside carries of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import casadi as ca

from kingpost.base.channels import Channel
from kingpost.control.blocks.description import Block, DiscreteBlock, Measured, State
from kingpost.mechanism.elements import Input, Parameter


def write_block(block: Block | DiscreteBlock) -> dict[str, Any]:
    """Return a block as plain data; its functions as CasADi writes them."""
    states, function = (block.memory, block.step) if isinstance(block, DiscreteBlock) else (block.states, block.function)
    data: dict[str, Any] = {
        "name": block.name,
        "description": block.description,
        "inputs": [{key: getattr(entry, key) for key in ("name", "unit", "default", "description")} for entry in block.inputs],
        "outputs": [_channel(entry) for entry in block.outputs],
        "states": [asdict(entry) for entry in states],
        "parameters": [
            {key: getattr(entry, key) for key in ("name", "default", "unit", "description", "minimum", "maximum")}
            for entry in block.parameters
        ],
        "function": function.serialize(),
    }
    if isinstance(block, DiscreteBlock):
        data |= {"sample_time": block.sample_time, "held": list(block.held)}
        if block.fallback is not None:
            data["fallback"] = block.fallback.serialize()
    return data


def read_block(data: Mapping[str, Any]) -> Block | DiscreteBlock:
    """Return the block that plain data describe."""
    function = ca.Function.deserialize(data["function"])
    inputs = tuple(_input(entry) for entry in data["inputs"])
    outputs = tuple(Channel(**{**entry, "at": tuple(entry["at"])}) for entry in data["outputs"])
    states = tuple(State(**entry) for entry in data["states"])
    parameters = tuple(Parameter(**entry) for entry in data["parameters"])
    name, description = data["name"], data["description"]
    if "sample_time" not in data:
        return Block(name, inputs, outputs, states, parameters, description=description, body=function)
    held: Sequence[float] = tuple(data["held"])
    fallback = ca.Function.deserialize(data["fallback"]) if "fallback" in data else None
    return DiscreteBlock(name, inputs, outputs, function, data["sample_time"], states, parameters, held, description, fallback)


def _input(entry: Mapping[str, Any]) -> Input:
    return Input(**entry) if entry["name"].isidentifier() else Measured(**entry)


def _channel(channel: Channel) -> dict[str, Any]:
    return {"name": channel.name, "unit": channel.unit, "frame": channel.frame, "side": channel.side, "at": list(channel.at)}
