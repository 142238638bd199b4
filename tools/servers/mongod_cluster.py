"""A config server and a shard server, for tests beside MongoDB's own lock manager."""

from typing import Any

from tools.servers.mongod_servers import command, replica_set

DATABASE = "beside"


def cluster(servers: Any) -> dict[str, str]:
    """Starts both, and gives their URIs."""
    config = replica_set(servers, "distlock-config", [{"arguments": ("--configsvr",)}])
    shard = replica_set(servers, "distlock-shard", [{"arguments": ("--shardsvr",)}])
    config_port, shard_port = list(servers.running)[-2:]
    majority = {"writeConcern": {"w": "majority"}}
    command(config_port, {"_configsvrAddShard": f"distlock-shard/127.0.0.1:{shard_port}",
                          **majority})
    command(config_port, {"_configsvrCreateDatabase": DATABASE, "primaryShardId": "distlock-shard",
                          **majority})
    return {"CONFIG_SERVER": config, "SHARD": shard}
