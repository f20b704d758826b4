// placeholder for the hook vocabulary
