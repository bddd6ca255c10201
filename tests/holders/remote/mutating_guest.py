"""A process whose threads change what they hold as fast as they can.

usage: mutating_guest.py"""
import collections
import os
import random
import sys
import threading


class Marker:
    pass


class Node:
    def __init__(self, random_number):
        self.number = random_number
        self.children = []


shared = {}
lists = [[] for _ in range(8)]
queue = collections.deque(maxlen=50)


def mutate(seed):
    choose = random.Random(seed)
    nodes = [Node(0)]
    while True:
        node = Node(choose.random())
        node.children.append([choose.choice(lists), queue])
        setattr(node, "attribute%d" % choose.randrange(60), Marker())
        vars(node)[choose.random()] = {number: [Marker()] for number in range(choose.randrange(40))}
        nodes.append(node)
        if len(nodes) > 100:
            nodes = nodes[-20:]
        shared[choose.randrange(300)] = node
        for _ in range(choose.randrange(30)):
            shared.pop(choose.randrange(300), None)
        chosen = choose.choice(lists)
        chosen.extend((Marker(), node))
        if len(chosen) > 200:
            chosen.clear()
        queue.append(type("Made", (Node,), {"marker": Marker()}))
        queue.append((lambda value: lambda: value)(node))


sys.setswitchinterval(1e-5)
for number in range(4):
    threading.Thread(target=mutate, args=(number,), daemon=True).start()
print("ready", os.getpid(), flush=True)
sys.stdin.readline()
os._exit(0)
