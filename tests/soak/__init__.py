"""Mixed traffic with faults for as long as wanted; what is counted has to be what clients saw."""
