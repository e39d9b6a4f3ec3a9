# Web search in packets of 1460 B, as pFabric and PIAS have it (CDF_dctcp.tcl). Mean 1141 packets.
unit 1460
6 0
6 0.15
13 0.2
19 0.3
33 0.4
53 0.53
133 0.6
667 0.7
1333 0.8
3333 0.9
6667 0.97
20000 1
