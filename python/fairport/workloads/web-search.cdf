# Web search: sizes of flows in bytes in a cluster of the DCTCP paper (Alizadeh et al. 2010), as the
# points are used since (DCTCP_CDF.txt of HKUST-SING/TrafficGenerator). Mean 1 711 250 B.
0 0
10000 0.15
20000 0.2
30000 0.3
50000 0.4
80000 0.53
200000 0.6
1000000 0.7
2000000 0.8
5000000 0.9
10000000 0.97
30000000 1
