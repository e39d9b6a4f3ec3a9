# Data mining in packets of 1460 B, as pFabric and PIAS have it (CDF_vl2.tcl). Mean 5117 packets.
# It is not the distribution of data-mining.cdf: its mean is 1.7 times smaller.
unit 1460
1 0
1 0.5
2 0.6
3 0.7
7 0.8
267 0.9
2107 0.95
66667 0.99
666667 1
